package table

import (
	"bufio"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"time"
)

// Machine is where and with what a run was made.
type Machine struct {
	Date   string `json:"date"`
	CPU    string `json:"cpu"`
	Cores  int    `json:"cores"`
	System string `json:"system"`
	Go     string `json:"go"`
	Server string `json:"server"`
	Rounds int    `json:"rounds"`
	// Millis is how long one measurement took, Seconds the whole run.
	Millis  int64 `json:"millis"`
	Seconds int   `json:"seconds"`
	// Modules are the versions of what was compared.
	Modules map[string]string `json:"modules"`
}

// compared are the modules whose versions a reader wants to know.
var compared = []string{
	"github.com/redis/go-redis/v9",
	"github.com/go-redis/redis_rate/v10",
	"github.com/ulule/limiter/v3",
	"github.com/throttled/throttled/v2",
}

// ThisMachine describes where this program runs.
func ThisMachine(server string) Machine {
	return Machine{
		Date:    time.Now().UTC().Format(time.DateOnly),
		CPU:     processor(),
		Cores:   runtime.NumCPU(),
		System:  runtime.GOOS + "/" + runtime.GOARCH,
		Go:      runtime.Version(),
		Server:  server,
		Modules: versions(),
	}
}

// processor is the name that Linux knows; other systems tell none.
func processor() string {
	file, err := os.Open("/proc/cpuinfo")
	if err != nil {
		return "unknown"
	}
	defer file.Close()
	for lines := bufio.NewScanner(file); lines.Scan(); {
		key, value, _ := strings.Cut(lines.Text(), ":")
		if strings.TrimSpace(key) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return "unknown"
}

func versions() map[string]string {
	versions := make(map[string]string)
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return versions
	}
	for _, module := range info.Deps {
		for _, name := range compared {
			if module.Path == name {
				versions[name] = module.Version
			}
		}
	}
	return versions
}

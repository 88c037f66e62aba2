package programmodel_test

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"example.com/weir/adapter-outbound-cache-redis/internal/programmodel"
	"example.com/weir/lua"
)

// program is a program with what the manifest tells of it.
type program struct {
	lua.Program
	form      string     // of the argument
	arguments []argument // the numbers of the argument
	times     []string   // the words of the state that are moments
	numbers   []string   // the words of the state that are other numbers
	logs      bool       // the state is a sorted set, and has no such words
}

// argument is bounded by a number or by another argument, which is then named.
type argument struct {
	Name        string
	Least, Most any
}

// programs are all programs for one level, as the manifest describes them.
func programs(t *testing.T) []program {
	t.Helper()
	var manifest struct {
		Programs []struct {
			Name     string
			Argument struct {
				Form    string
				Numbers []argument
			}
			State struct {
				Header  *struct{}
				Numbers []struct{ Unit string }
			}
		}
	}
	if err := json.Unmarshal(lua.Manifest(), &manifest); err != nil {
		t.Fatal(err)
	}
	sources := make(map[string]lua.Program)
	for _, source := range lua.Programs() {
		sources[source.Name] = source
	}
	var all []program
	for _, described := range manifest.Programs {
		if described.Name == programmodel.LayeredProgram {
			continue
		}
		p := program{
			Program:   sources[described.Name],
			form:      described.Argument.Form,
			arguments: described.Argument.Numbers,
			logs:      described.State.Header != nil,
		}
		for i, number := range described.State.Numbers {
			if p.logs {
				break
			}
			if strings.Contains(number.Unit, "since the epoch") {
				p.times = append(p.times, word(1+i))
			} else {
				p.numbers = append(p.numbers, word(1+i))
			}
		}
		if p.Source == "" || !p.logs && (len(p.times) == 0 || len(p.numbers) == 0) {
			t.Fatalf("the manifest's %s has no source, or no moments and numbers in its state", described.Name)
		}
		all = append(all, p)
	}
	return all
}

// line is the argument of a call whose numbers are given by name.
func (p program) line(numbers map[string]int64) string {
	texts := make(map[string]string, len(numbers))
	for _, argument := range p.arguments {
		number, given := numbers[argument.Name]
		if !given {
			panic(fmt.Sprintf("%s has an argument %q that no test gives", p.Name, argument.Name))
		}
		texts[argument.Name] = strconv.FormatInt(number, 10)
	}
	return fill(p.form, texts)
}

package redistest

import (
	"encoding/json"
	"maps"
	"strconv"
	"strings"
	"testing"

	"example.com/weir/lua"
)

// Ensure that the servers which the manifest promises to run on are those that
// tests run on: of each kind the lowest in the table.
func TestMinimumServersAreTheLowestLanes(t *testing.T) {
	var manifest struct{ MinimumServer map[string]string }
	if err := json.Unmarshal(lua.Manifest(), &manifest); err != nil {
		t.Fatal(err)
	}
	everyImage := func(string) bool { return true }
	if want := lowest(t, laneImages(table, everyImage)); !maps.Equal(manifest.MinimumServer, want) {
		t.Errorf("the manifest promises %v, the lowest lanes are %v", manifest.MinimumServer, want)
	}
}

// Ensure that versions are compared as numbers, in whatever order lanes come.
func TestLowest(t *testing.T) {
	lanes := []Lane{{name: "redis-10.0"}, {name: "valkey-8.1"}, {name: "redis-9.10"}, {name: "redis-9.2"}}
	if got, want := lowest(t, lanes), map[string]string{"redis": "9.2", "valkey": "8.1"}; !maps.Equal(got, want) {
		t.Errorf("lowest are %v, want %v", got, want)
	}
}

// lowest gives the lowest version of each kind of server.
func lowest(t *testing.T, lanes []Lane) map[string]string {
	t.Helper()
	versions := make(map[string]string)
	for _, lane := range lanes {
		kind, version, _ := strings.Cut(lane.name, "-")
		if known, ok := versions[kind]; !ok || number(t, version) < number(t, known) {
			versions[kind] = version
		}
	}
	return versions
}

// number orders versions of the form major.minor.
func number(t *testing.T, version string) int {
	t.Helper()
	major, minor, _ := strings.Cut(version, ".")
	high, err := strconv.Atoi(major)
	if err != nil {
		t.Fatalf("version %q: %v", version, err)
	}
	low, err := strconv.Atoi(minor)
	if err != nil || low >= 1000 {
		t.Fatalf("version %q: %v", version, err)
	}
	return 1000*high + low
}

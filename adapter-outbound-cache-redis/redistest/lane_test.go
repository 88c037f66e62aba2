package redistest

import (
	"reflect"
	"slices"
	"testing"
)

func TestParseLanes(t *testing.T) {
	tests := []struct {
		name string
		list string
		want []Lane // nil: refused
	}{
		{"an image", "redis-8.0=local/redis:8.0", []Lane{{name: "redis-8.0", image: "local/redis:8.0"}}},
		{"a program", "redis-server=/usr/bin/redis-server", []Lane{{name: "redis-server", path: "/usr/bin/redis-server"}}},
		{"two", "a=b, c=/d", []Lane{{name: "a", image: "b"}, {name: "c", path: "/d"}}},
		{"no server", "redis-8.0=", nil},
		{"no name", "=local/redis:8.0", nil},
		{"no equals sign", "redis-8.0", nil},
		{"a comma too many", "a=b,", nil},
		{"one lane twice", "a=b,a=c", nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := parseLanes(test.list)
			if !reflect.DeepEqual(got, test.want) || (err == nil) != (test.want != nil) {
				t.Errorf("got %v, error %v, want %v", got, err, test.want)
			}
		})
	}
}

// Ensure that lanes come in the table's order, run on their local image first,
// and are left out where no image is.
func TestLaneImages(t *testing.T) {
	tests := []struct {
		name   string
		images []string
		want   []Lane
	}{
		{"none", nil, nil},
		{"a local one", []string{"local/redis:8.0"}, []Lane{{name: "redis-8.0", image: "local/redis:8.0"}}},
		{"one from a registry", []string{"redis:7.4-alpine"}, []Lane{{name: "redis-7.4", image: "redis:7.4-alpine"}}},
		{"both", []string{"redis:7.0-alpine", "local/redis:7.0"}, []Lane{{name: "redis-7.0", image: "local/redis:7.0"}}},
		{"several", []string{"local/valkey:8.1", "local/redis:7.0"}, []Lane{
			{name: "redis-7.0", image: "local/redis:7.0"}, {name: "valkey-8.1", image: "local/valkey:8.1"},
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			has := func(image string) bool { return slices.Contains(test.images, image) }
			if got := laneImages(table, has); !reflect.DeepEqual(got, test.want) {
				t.Errorf("got %+v, want %+v", got, test.want)
			}
		})
	}
}

package planted

import (
	"os"
	"testing"
)

func TestPlanted(t *testing.T) {
	if err := os.Chdir(".."); err != nil { // want: usetesting
		t.Error(err)
	}
}

package planted

import (
	"context"
	"testing"
)

func TestPlanted(t *testing.T) {
	if ctx := context.Background(); ctx.Err() != nil { // want: usetesting
		t.Error("unreachable")
	}
}

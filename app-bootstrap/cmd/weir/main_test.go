package main

import (
	"os"
	"testing"

	"example.com/weir/adapter-outbound-cache-redis/redistest"
)

// asProgram, when it is set, makes the test binary be the program: so tests run
// real processes, under the race detector when the tests do.
const asProgram = "WEIR_TEST_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
		return
	}
	redistest.Main(m)
}

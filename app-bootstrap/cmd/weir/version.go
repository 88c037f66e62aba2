package main

import (
	"runtime"
	"runtime/debug"
)

// version is what the toolchain wrote into the binary.
func version() string {
	number, revision := "devel", ""
	if info, ok := debug.ReadBuildInfo(); ok {
		if v := info.Main.Version; v != "" && v != "(devel)" {
			number = v
		}
		for _, setting := range info.Settings {
			if setting.Key == "vcs.revision" {
				revision = " (" + setting.Value + ")"
			}
		}
	}
	return "weir " + number + revision + " " + runtime.Version()
}

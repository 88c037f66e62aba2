// Package lua embeds and hands out the Redis programs of Weir, their manifest
// and their test vectors. It knows nothing else: not how a program is sent, and
// not what its reply means.
//
// The files are language-neutral. manifest.json describes each program: its
// digest, the servers it runs on, its keys, arguments, state and reply.
// vectors/*.json hold states, arguments and clocks with the replies and states
// that must follow, for an adapter in any language.
//
// A published program never changes; a change is a new version beside it. The
// programs are composed from the parts under source, so that an algorithm is
// written once for its own program and for that of several levels.
package lua

//go:generate go run ./compose source .

import (
	"crypto/sha1" //nolint:gosec // Redis names a script by its SHA-1; no secret depends on it.
	"embed"
	"encoding/hex"
	"io/fs"
)

// Program is one Lua program as it is sent to the server.
type Program struct {
	// Name is the file's name without its extension, version included.
	Name string
	// Source is the exact text.
	Source string
	// SHA1 is the lower-case hexadecimal digest by which EVALSHA calls it.
	SHA1 string
}

//go:embed rate-fixed-window-v1.lua
var fixedWindow string

//go:embed rate-sliding-counter-v1.lua
var slidingCounter string

//go:embed rate-sliding-log-v1.lua
var slidingLog string

//go:embed rate-token-bucket-v1.lua
var tokenBucket string

//go:embed rate-layered-v1.lua
var layered string

//go:embed manifest.json
var manifest []byte

//go:embed vectors/*.json
var vectors embed.FS

// FixedWindow counts in windows aligned to the epoch.
func FixedWindow() Program { return program("rate-fixed-window-v1", fixedWindow) }

// SlidingCounter weighs the previous window by the share that still overlaps.
func SlidingCounter() Program { return program("rate-sliding-counter-v1", slidingCounter) }

// SlidingLog remembers each admission of the last window.
func SlidingLog() Program { return program("rate-sliding-log-v1", slidingLog) }

// TokenBucket refills evenly up to its capacity.
func TokenBucket() Program { return program("rate-token-bucket-v1", tokenBucket) }

// Layered decides several levels, each by one of the algorithms above, and charges
// all of them or none.
func Layered() Program { return program("rate-layered-v1", layered) }

// Programs lists all programs.
func Programs() []Program {
	return []Program{FixedWindow(), SlidingCounter(), SlidingLog(), TokenBucket(), Layered()}
}

// Manifest is the text of manifest.json.
func Manifest() []byte { return append([]byte(nil), manifest...) }

// Vectors holds the test vectors, one file per program, named after it.
func Vectors() fs.FS {
	sub, err := fs.Sub(vectors, "vectors")
	if err != nil {
		panic(err) // the directory is embedded above
	}
	return sub
}

func program(name, source string) Program {
	digest := sha1.Sum([]byte(source)) //nolint:gosec // see the import
	return Program{Name: name, Source: source, SHA1: hex.EncodeToString(digest[:])}
}

package planted

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand" // want: depguard
	"net"
	"net/http"
	"os"
	"time"
	"unicode/utf8"
)

// want-next: godoclint

type Undocumented struct{}

// errPlanted is compared in the wrong way.
var errPlanted = errors.New("planted")

func init() { _ = rand.Int() } // want: gochecknoinits

func dropsAnError() {
	os.Remove("nothing") // want: errcheck
}

func comparesAnError(err error) bool {
	return err == errPlanted // want: errorlint
}

func losesAnError() error {
	if _, err := os.Open("nothing"); err != nil {
		return nil // want: nilerr
	}
	return nil
}

func prints() {
	fmt.Println("hello") // want: forbidigo
}

func sleeps() {
	time.Sleep(time.Second) // want: forbidigo
}

func logsGlobally() {
	slog.Info("hello") // want: sloglint
}

func logsWithAnOddKey(logger *slog.Logger) {
	logger.Info("hello", "some-key", 1) // want: sloglint
}

func logsWithoutAValue(logger *slog.Logger) {
	logger.Info("hello", "key") // want: govet
}

func squaresADuration(d time.Duration) time.Duration {
	return d * time.Second * d // want: durationcheck
}

func leavesABodyOpen(ctx context.Context, client *http.Client) (int, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://127.0.0.1", http.NoBody)
	if err != nil {
		return 0, err
	}
	response, err := client.Do(request) // want: bodyclose
	if err != nil {
		return 0, err
	}
	return response.StatusCode, nil
}

func dialsWithoutAContext() (net.Conn, error) {
	return net.Dial("tcp", "127.0.0.1:1") // want: noctx
}

func nestsContexts(ctx context.Context, keys []int) context.Context {
	for range keys {
		ctx = context.WithValue(ctx, key{}, "value") // want: fatcontext
	}
	return ctx
}

type key struct{}

func takesAFlag(loud bool) string { // want: revive
	if loud {
		return "HELLO"
	}
	return "hello"
}

func takesAContextLast(name string, ctx context.Context) error { // want: revive
	_ = name
	return ctx.Err()
}

func appendsToZeros(in []int) []int {
	out := make([]int, len(in))
	for _, n := range in {
		out = append(out, n) // want: makezero
	}
	return out
}

func reassigns() {
	io.EOF = nil // want: reassign
}

func convertsAString(s string) string {
	return string(s) // want: unconvert
}

func assignsInVain() int {
	n := 1 // want: ineffassign
	n = 2
	return n
}

func countsTheOldWay() (sum int) {
	for i := 0; i < 10; i++ { // want: intrange
		sum += i
	}
	return sum
}

func copiesTheLoopVariable(in []int) (out []*int) {
	for _, n := range in {
		n := n // want: copyloopvar
		out = append(out, &n)
	}
	return out
}

func shadowsABuiltin() int {
	len := 1 // want: predeclared
	return len
}

func spellsOut(request *http.Request) bool {
	return request.Method == "GET" // want: usestdlibvars
}

func formatsAString(s string) string {
	return fmt.Sprintf("%s", s) // want: perfsprint
}

func countsRunes(s string) int {
	return utf8.RuneCount([]byte(s)) // want: mirror
}

func neverFails(name string) (string, error) { // want: unparam
	for range 3 {
		name += name
	}
	return name, nil
}

func greets() string {
	first, err := neverFails("hello")
	if err != nil {
		return err.Error()
	}
	return first
}

func neverCalled() {} // want: unused

func excusesWithoutAReason() {
	// want-next: nolintlint
	os.Remove("nothing") //nolint:errcheck
}

// missesAFullStop ends without one // want: godot
func missesAFullStop() {}

// says it it twice. // want: dupword
func repeats() {}

// an adress is misspelled, and recieve too. // want: misspell
func misspells() {}

func asciionlÿ() {} // want: asciicheck

func shadowsNothing(x []int) []int {
	y := append(x, 1) // want: gocritic
	return y
}

func comparesToItself(n int) bool {
	return n == n // want: staticcheck
}

func wastesAnAssignment(large bool) int {
	n := 0 // want: wastedassign
	if large {
		n = 1000
	} else {
		n = 1
	}
	return n
}

func startsWithABlankLine() { // want: whitespace

	prints()
}

// Use keeps the functions above in use, so that each has the one fault only.
func Use() []any {
	return []any{
		dropsAnError, comparesAnError, losesAnError, prints, sleeps, logsGlobally, logsWithAnOddKey,
		logsWithoutAValue, squaresADuration, leavesABodyOpen, dialsWithoutAContext, nestsContexts, takesAFlag,
		takesAContextLast, appendsToZeros, reassigns, convertsAString, assignsInVain, countsTheOldWay,
		copiesTheLoopVariable, shadowsABuiltin, spellsOut, formatsAString, countsRunes, greets, excusesWithoutAReason,
		missesAFullStop, repeats, misspells, asciionlÿ, shadowsNothing, comparesToItself, wastesAnAssignment,
		startsWithABlankLine, bareReturn,
	}
}

func bareReturn() (a, b int) {
	if a > b {
		a = 1
		b = 2
		a++
		b++
		a--
		b--
		a++
		b++
		a--
		b--
		a++
		b++
		a--
		b--
		a++
		b++
		a--
		b--
		a++
		b++
		a--
		b--
		a++
		b++
		a--
		b--
		a++
	}
	return // want: nakedret
}

// Package table holds what a run has measured: for each round a row per thing
// that was compared, and the medians over the rounds.
package table

// Rounds are the rows of each round. Every round has the same rows in the same
// order.
type Rounds[R any] [][]R

// Run is all that one run has measured.
type Run struct {
	Machine     Machine
	Evaluations Rounds[Evaluation]
	Layered     Rounds[Layered]
	Programs    Rounds[Program]
	Pages       Rounds[Page]
	Handlers    Rounds[Handler]
}

// Evaluation is one contender under one load.
type Evaluation struct {
	Contender string `json:"contender"`
	// Callers is how many asked at the same time, Subjects how many they asked
	// about.
	Callers  int `json:"callers"`
	Subjects int `json:"subjects"`

	PerSecond float64 `json:"per_second"`
	P50       float64 `json:"p50_us"`
	P99       float64 `json:"p99_us"`
	// Client and Redis are processor time per evaluation.
	Client float64 `json:"client_us"`
	Redis  float64 `json:"redis_us"`
	// BytesPerKey is the memory of the largest key, 0 where there is none.
	BytesPerKey int64 `json:"bytes_per_key"`
	// Allocs is how many objects an evaluation puts on the heap.
	Allocs float64 `json:"allocs"`
	// Admitted is a share, 0 to 1.
	Admitted float64 `json:"admitted"`
	Errors   int64   `json:"errors"`
}

// Layered is an evaluation of several levels at once, under one load.
type Layered struct {
	// BytesPerKey is that of one of the keys: there is one for each level.
	Evaluation

	Levels int `json:"levels"`
	// Commands is how many the server has executed for an evaluation.
	Commands float64 `json:"commands"`
}

// Program is one program with one kind of answer, in pipelines.
type Program struct {
	Program string `json:"program"`
	// Redis is the server's processor time per evaluation.
	Redis float64 `json:"redis_us"`
}

// Page is one way to an answer over HTTP.
type Page struct {
	Path        string  `json:"path"`
	Connections int     `json:"connections"`
	PerSecond   float64 `json:"per_second"`
	P50         float64 `json:"p50_us"`
	P99         float64 `json:"p99_us"`
}

// Handler is an HTTP handler, called without a network.
type Handler struct {
	Handler string `json:"handler"`
	// Time is per request, one after the other.
	Time   float64 `json:"us"`
	Allocs float64 `json:"allocs"`
}

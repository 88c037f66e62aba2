// Package locallimit is the limiter of a process that has no store: a sliding
// window per subject, in memory. It is the compatibility path for installations
// that have not enabled distributed limiting, and nothing falls back to it.
//
// [Limiter.Take] is what most callers need. [Limiter.Allow] is the older form of
// the same question, over the same table.
//
// # What it promises
//
// No span of time as long as the window ever sees more than the limit admitted
// to one subject. A denial spends nothing, so a client that keeps trying is
// admitted as soon as one that waits. Each process counts for itself: n
// processes behind a load balancer admit up to n times the limit, and a restart
// forgets everything.
//
// # How it counts
//
// The window is cut into [Slots] slots. Admissions of the same slot are
// remembered together, as their number and the time of the last of them, and
// leave the window together: a request counts for the window's length and at
// most one slot longer. A subject that spends less often than once per slot is
// counted to the nanosecond. So the memory for one subject is bounded whatever
// its limit, and small for those who ask rarely.
//
// # How much it remembers
//
// The table has room for a given number of subjects. There is no sweeper: each
// new subject makes room by removing those whose windows have become empty,
// which changes no decision. A subject that has spent is never forgotten. When
// nobody can be removed, new subjects share one overflow window, with the limit
// of a single subject. So a crowd of invented subjects neither exhausts the
// memory, nor frees a subject that is exhausted, nor takes anything from those
// who have a window already. Whoever gets a window later begins with what the
// overflow window has admitted, for that may have been its own.
//
// Time is the process's monotonic clock; setting the system's clock has no
// effect. A Limiter starts no goroutine and no timer. It is safe for concurrent
// use.
package locallimit

// Package locallimit limits in a process that has no store, or whose store is
// gone: with a sliding window per subject, in memory.
//
// A [Limiter] has one limit. It is the compatibility path for installations that
// have not enabled distributed limiting. [Limiter.Take] is what most callers need;
// [Limiter.Allow] is the older form of the same question, over the same table.
//
// [Layers] charges several limits at once, such as those of a user and of the
// user's tenant, or none of them.
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
// A table has room for a given number of subjects. A Limiter has one table, Layers
// have one for each counter. There is no sweeper: each new subject makes room by
// removing those whose windows have become empty, which changes no decision. A
// subject that has spent is never forgotten. When nobody can be removed, new
// subjects share one overflow window, with the limit of a single subject. So a
// crowd of invented subjects neither exhausts the memory, nor frees a subject that
// is exhausted, nor takes anything from those who have a window already. Whoever
// gets a window later begins with what the overflow window has admitted, for that
// may have been its own.
//
// The charges of one request are judged one by one. If several are of one counter
// and find no room, they may together go beyond the overflow window's limit, once,
// and none of their subjects beyond its own.
//
// Time is the process's monotonic clock; setting the system's clock has no
// effect. Neither type starts a goroutine or a timer. Both are safe for concurrent
// use.
package locallimit

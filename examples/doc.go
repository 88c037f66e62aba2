// Package examples holds small programs that use Weir as a library, and
// configurations to start from. Each program is complete and meant to be copied:
//
//   - nethttp: the middleware in front of a plain net/http application
//   - chi: the same in a chi router, with a policy per route
//   - dual: an application that keeps the interfaces of its older limiter, for a
//     tenant and its users
//   - usecase: a use case that asks the port itself, before it opens a database
//     transaction
package examples

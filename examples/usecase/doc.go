// Package usecase shows an application that asks the rate limiter itself: at the
// start of a use case, before a database transaction is opened. Middleware cannot
// do that where the cost of a request depends on what it asks for, or where there
// is no HTTP request at all.
//
// The order is the point. A transaction holds a connection of the database's pool,
// and opening one is what a flood exhausts first; a limiter that is asked inside
// it protects nothing. What counts is decided here, on purpose:
//
//   - An order that is not valid is refused before it is counted: finding that out
//     costs nothing worth protecting.
//   - Who the tenant is, and that it may order, has been found out by the caller.
//     Requests that are not authorised are not counted against a tenant.
//   - A failure of the database does not give quota back. The attempt has burdened
//     the database, and that is what the quota stands for.
//
// The package imports the contract alone: no Redis, no HTTP, no database driver.
package usecase

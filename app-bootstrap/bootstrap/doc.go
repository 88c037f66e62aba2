// Package bootstrap puts Weir together: it gives every adapter what it needs,
// starts the parts in order and stops them in reverse.
//
// The parts are made by plain constructors; the fx modules here only say which
// ones, in what order, and what happens at start and stop. While distributed
// limiting is disabled its module does not exist: nothing of it is constructed,
// connected or running.
//
//	start  store, management listener, listener for proxies, public listener
//	stop   readiness is withdrawn, the public listener drains, the other two
//	       close, the store and the metrics close
package bootstrap

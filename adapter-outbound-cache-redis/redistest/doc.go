// Package redistest gives tests real Redis and Valkey servers.
//
// Tests run against lanes: one kind of server each, by version. [Each] runs a
// test once per lane on a server that the whole test binary shares and that is
// empty when the test gets it; [Primary] gives such a server of the first lane
// only. [Start] starts a server of the test's own, which may be paused, killed
// and reconfigured. Most tests need Each, and its package this function:
//
//	func TestMain(m *testing.M) { redistest.Main(m) }
//
// Which lanes there are is said by the environment variable WEIR_TEST_LANES, a
// comma-separated list of name=image and name=/path/to/redis-server. Without
// it, every image of the table lanes.txt that Docker holds is a lane; without
// Docker, redis-server on PATH is the only one. With neither, tests fail: a test
// that needs a server is never skipped.
package redistest

package weir

import (
	"os"
	"testing"
)

// The rules of the house. A file may import the standard library and its own
// module; everything else needs a permission. A rule that applies to nothing is
// a fault, so what stands here is true of the tree.
var architecture = rules{
	modules: []module{
		{".", "the rules of the house"},
		{"lua", "the Redis programs, for adapters in any language"},
		{"shared-contract", "the inside of the hexagon: ports and their values"},
		{"adapter-inbound-web", "HTTP, towards the ports"},
		{"adapter-outbound-cache-redis", "the ports, over Redis"},
		{"app-bootstrap", "the only module that sees everything"},
		{"examples", "programs of others, that use the modules as a library"},
	},

	permissions: []permission{
		// Modules of the house: dependencies point inwards, and adapters do not
		// know each other.
		{"adapter-inbound-web", "example.com/weir/shared-contract", everywhere,
			"an adapter speaks the contract"},
		{"adapter-outbound-cache-redis", "example.com/weir/shared-contract", everywhere,
			"an adapter speaks the contract"},
		{"adapter-outbound-cache-redis", "example.com/weir/lua", everywhere,
			"it is the one that runs the programs"},
		{"app-bootstrap", "example.com/weir/shared-contract", everywhere,
			"it connects ports with adapters"},
		{"app-bootstrap", "example.com/weir/adapter-inbound-web", everywhere,
			"it connects ports with adapters"},
		{"app-bootstrap", "example.com/weir/adapter-outbound-cache-redis", everywhere,
			"it connects ports with adapters"},

		// Examples import what their readers would, and nothing of the bootstrap.
		{"examples", "example.com/weir/shared-contract", everywhere,
			"an application that asks the port speaks the contract"},
		{"examples/nethttp", "example.com/weir/adapter-inbound-web", everywhere,
			"it is about the middleware"},
		{"examples/nethttp", "example.com/weir/adapter-outbound-cache-redis/redislimit", everywhere,
			"it is about the middleware over Redis"},
		{"examples/chi", "example.com/weir/adapter-inbound-web/edge", everywhere,
			"it is about the middleware"},
		{"examples/chi", "example.com/weir/adapter-outbound-cache-redis/redislimit", everywhere,
			"it is about the middleware over Redis"},
		{"examples/chi", "github.com/go-chi/chi/v5", everywhere,
			"it is about the middleware in this router"},
		{"examples/dual", "example.com/weir/adapter-inbound-web/legacy", everywhere,
			"it is about the interfaces of older limiters"},
		{"examples/dual", "example.com/weir/adapter-outbound-cache-redis/redislimit", everywhere,
			"it is about these interfaces over Redis"},
		{"examples/dual", "example.com/weir/adapter-outbound-cache-redis/redistest", testsOnly,
			"that they mean what they meant is shown on real servers"},

		// Redis.
		{"adapter-outbound-cache-redis", "github.com/redis/go-redis/v9", everywhere,
			"the client stays in the adapter that is about Redis"},
		{"adapter-outbound-cache-redis/redislimit", "github.com/sony/gobreaker/v2", everywhere,
			"when a server that does not answer is left alone is a well-known machine with well-known faults"},
		{"adapter-outbound-cache-redis/redislimit", "golang.org/x/sync/semaphore", everywhere,
			"admission is a weighted semaphore that gives up with its context"},
		{"adapter-outbound-cache-redis/internal/programmodel", "github.com/alicebob/miniredis/v2", testsOnly,
			"the vectors also run on a server whose clock can be set"},
		{"adapter-outbound-cache-redis/redislimit", "golang.org/x/mod/semver", everywhere,
			"comparing versions of servers is not ours to write again"},
		{"adapter-outbound-cache-redis/internal/certainty", "golang.org/x/sys/unix", everywhere,
			"only the kernel knows that a connection under TLS was closed"},
		{"adapter-outbound-cache-redis/redislimit", "go.uber.org/goleak", testsOnly,
			"no fault leaves a goroutine behind"},
		{"adapter-outbound-cache-redis/internal/history", "github.com/anishathalye/porcupine", everywhere,
			"whether some order of calls explains their answers is a search that others have made fast"},
		{"adapter-outbound-cache-redis/redistest", "github.com/testcontainers/testcontainers-go", everywhere,
			"real servers for tests"},
		{"adapter-outbound-cache-redis/redistest", "github.com/moby/moby", everywhere,
			"pausing and killing a container is beyond testcontainers-go"},

		// Web.
		{"adapter-inbound-web/answer", "github.com/dunglas/httpsfv", everywhere,
			"RateLimit fields are structured fields (RFC 9651)"},
		{"adapter-inbound-web/subject", "golang.org/x/net/http/httpguts", everywhere,
			"the grammar of header names is not ours to write again"},
		{"adapter-inbound-web/forwardauth", "golang.org/x/net/http/httpguts", everywhere,
			"nor are those of methods and hosts"},
		{"adapter-inbound-web/gateway", "golang.org/x/net/websocket", testsOnly,
			"that WebSockets pass is shown with a client and a server of others"},
		{"adapter-inbound-web/edge", "go.opentelemetry.io/otel/metric", everywhere,
			"how often limits could not be decided is counted where a failure mode hides it; the SDK stays in the bootstrap"},
		{"adapter-inbound-web/edge", "go.opentelemetry.io/otel/attribute", everywhere,
			"it belongs to the same API"},
		{"adapter-inbound-web/management", "golang.org/x/sync/singleflight", everywhere,
			"many probes at once are one check"},

		{"adapter-inbound-web/internal/openapitest", "github.com/getkin/kin-openapi", testsOnly,
			"live responses are held against the API's document, which is OpenAPI 3.1"},

		// Bootstrap: the only place for frameworks.
		{"app-bootstrap/bootstrap", "go.uber.org/fx", everywhere,
			"the application's parts and their life cycle"},
		{"app-bootstrap/bootstrap", "go.opentelemetry.io/otel", everywhere,
			"who collects what the parts count, and for whom"},
		{"app-bootstrap/bootstrap", "github.com/prometheus/client_golang/prometheus", everywhere,
			"the form in which it is read"},
		{"app-bootstrap/config", "github.com/knadh/koanf", everywhere,
			"configuration in layers"},
		{"app-bootstrap/config", "github.com/go-viper/mapstructure/v2", everywhere,
			"strict decoding behind koanf"},
		{"app-bootstrap/config", "go.yaml.in/yaml/v3", everywhere,
			"finding what koanf's parser would silently accept"},
		{"app-bootstrap/config", "github.com/agnivade/levenshtein", everywhere,
			"naming the key that was meant"},
		{"app-bootstrap/bootstrap", "go.uber.org/goleak", testsOnly,
			"what is switched off leaves no goroutine"},
	},

	reservations: []reservation{
		{"example.com/weir/adapter-inbound-web/locallimit",
			[]string{"adapter-inbound-web/edge", "adapter-inbound-web/legacy", "adapter-inbound-web/internal/localport", "app-bootstrap", "examples/nethttp"},
			"the local limiter is a compatibility path: its types cross into no other package than those that decide by it and those that configure it"},
	},

	prohibitions: []prohibition{
		{"shared-contract", "net/http",
			"status codes and headers are the web adapter's language"},
		{"shared-contract", "database/sql",
			"how an adapter stores is its own affair"},
		{"shared-contract", "encoding/json",
			"what an outcome looks like on a wire is the adapter's affair"},
		{"lua", "net",
			"the module hands out programs; it talks to nobody"},
		{"adapter-outbound-cache-redis", "net/http",
			"it knows nothing of who asks"},
		{"examples/usecase", "net/http",
			"a use case knows nothing of who asks"},
		{"examples/usecase", "database/sql",
			"a use case says what it needs of a database, and an adapter how that is done"},
	},

	vocabularies: []vocabulary{
		{
			module: "adapter-inbound-web",
			holder: "adapter-inbound-web/answer",
			names:  []string{"StatusTooManyRequests", "StatusServiceUnavailable"},
			codes:  []string{"429", "503"},
			because: "how an outcome looks in HTTP is decided in one place, " +
				"so that no two paths answer the same outcome differently",
		},
	},

	testSupport: []testSupport{
		{"adapter-outbound-cache-redis/internal/history",
			"what callers were answered while faults struck is recorded and checked with it"},
		{"adapter-outbound-cache-redis/internal/programmodel",
			"the programs are compared with it, and the vectors are made from it"},
	},
}

// Ensure that the tree keeps the rules.
func TestArchitecture(t *testing.T) {
	for _, fault := range architecture.check(os.DirFS(".")) {
		t.Error(fault)
	}
}

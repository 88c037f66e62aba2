module example.com/weir/examples

go 1.26.0

require (
	example.com/weir/adapter-inbound-web v0.0.0
	example.com/weir/adapter-outbound-cache-redis v0.0.0
	example.com/weir/shared-contract v0.0.0
	github.com/go-chi/chi/v5 v5.5.0
)

require (
	example.com/weir/lua v0.0.0 // indirect
	github.com/cespare/xxhash/v2 v2.3.0 // indirect
	github.com/dunglas/httpsfv v1.1.2 // indirect
	github.com/redis/go-redis/v9 v9.23.0 // indirect
	github.com/sony/gobreaker/v2 v2.4.0 // indirect
	go.opentelemetry.io/otel v1.47.0 // indirect
	go.opentelemetry.io/otel/metric v1.47.0 // indirect
	go.uber.org/atomic v1.12.0 // indirect
	golang.org/x/mod v0.43.0 // indirect
	golang.org/x/net v0.62.0 // indirect
	golang.org/x/sync v0.25.0 // indirect
	golang.org/x/sys v0.49.0 // indirect
	golang.org/x/text v0.43.0 // indirect
)

replace (
	example.com/weir/adapter-inbound-web => ../adapter-inbound-web
	example.com/weir/adapter-outbound-cache-redis => ../adapter-outbound-cache-redis
	example.com/weir/lua => ../lua
	example.com/weir/shared-contract => ../shared-contract
)

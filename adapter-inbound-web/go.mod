module example.com/weir/adapter-inbound-web

go 1.26.0

require (
	example.com/weir/shared-contract v0.0.0
	github.com/dunglas/httpsfv v1.1.2
	golang.org/x/net v0.62.0
	golang.org/x/sync v0.25.0
)

require golang.org/x/text v0.43.0 // indirect

replace example.com/weir/shared-contract => ../shared-contract

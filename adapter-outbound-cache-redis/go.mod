module example.com/weir/adapter-outbound-cache-redis

go 1.26.0

require (
	example.com/weir/lua v0.0.0
	example.com/weir/shared-contract v0.0.0
)

replace (
	example.com/weir/lua => ../lua
	example.com/weir/shared-contract => ../shared-contract
)

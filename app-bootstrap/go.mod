module example.com/weir/app-bootstrap

go 1.26.0

require (
	example.com/weir/adapter-inbound-web v0.0.0
	example.com/weir/adapter-outbound-cache-redis v0.0.0
	example.com/weir/shared-contract v0.0.0
)

replace (
	example.com/weir/adapter-inbound-web => ../adapter-inbound-web
	example.com/weir/adapter-outbound-cache-redis => ../adapter-outbound-cache-redis
	example.com/weir/lua => ../lua
	example.com/weir/shared-contract => ../shared-contract
)

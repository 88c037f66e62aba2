module example.com/weir/adapter-inbound-web

go 1.26.0

require example.com/weir/shared-contract v0.0.0

replace example.com/weir/shared-contract => ../shared-contract

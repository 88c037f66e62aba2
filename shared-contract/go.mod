module example.com/weir/shared-contract

go 1.26.0

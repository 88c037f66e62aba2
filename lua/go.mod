module example.com/weir/lua

go 1.26.0

module example.com/weir

go 1.26.0

package programmodel_test

import (
	"testing"

	"example.com/weir/adapter-outbound-cache-redis/redistest"
)

func TestMain(m *testing.M) { redistest.Main(m) }

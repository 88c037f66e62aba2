package config_test

import (
	"fmt"

	"example.com/weir/app-bootstrap/config"
)

func ExampleDefault() {
	cfg := config.Default()
	fmt.Println(cfg.Web.Address, cfg.Web.ManagementAddress)
	fmt.Println("distributed:", cfg.RateLimit.Enabled())
	fmt.Println("local:", cfg.Web.LocalLimiter.Limit, "per", cfg.Web.LocalLimiter.Window)
	// Output:
	// 127.0.0.1:8080 127.0.0.1:8081
	// distributed: false
	// local: 60 per 1m0s
}

func ExampleLoad() {
	_, _, err := config.Load(config.Sources{
		Environ: []string{"APP_WEB__EVALUATION_DEADLINE=60"},
		Set:     []string{"app.web.adress=127.0.0.1:9090"},
	})
	fmt.Println(err)
	// Output:
	// app.web.adress: is not a known key, did you mean app.web.address? (from --set)
	// app.web.evaluation-deadline: must be a duration with a unit, such as 250ms, 10s or 1m30s
}

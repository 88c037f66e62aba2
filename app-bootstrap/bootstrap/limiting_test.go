package bootstrap

import (
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"example.com/weir/app-bootstrap/config"
)

// Ensure that the store is shown the client's certificate of that moment, that
// complaints about it name its key, and that without one nothing is shown.
func TestRedisTLS_CertificateIsRenewed(t *testing.T) {
	files := newFiles(t)
	writePair(t, files, "first")
	synctest.Test(t, func(t *testing.T) {
		log := new(lockedBuffer)
		secure, err := redisTLS(config.RedisTLS{ServerName: "redis.internal", Client: files}, slog.New(slog.NewTextHandler(log, nil)))
		if err != nil || secure.ServerName != "redis.internal" {
			t.Fatalf("got %+v, %v", secure, err)
		}
		expect := func(want string) {
			t.Helper()
			pair, err := secure.Certificate()
			if err != nil || pair.Leaf.Subject.CommonName != want {
				t.Errorf("certificate %v, error %v; must be %s", pair, err, want)
			}
		}
		expect("first")
		writePair(t, files, "second")
		time.Sleep(lookEvery)
		expect("second")
		write(t, files.KeyFile, []byte("nonsense"))
		time.Sleep(lookEvery)
		expect("second")
		if !strings.Contains(log.String(), "level=ERROR") || !strings.Contains(log.String(), "key=app.rate-limit.redis.tls.cert-file") {
			t.Errorf("the log does not complain by key:\n%s", log)
		}
		_, err = redisTLS(config.RedisTLS{Client: files}, slog.New(slog.DiscardHandler))
		if err == nil || !strings.HasPrefix(err.Error(), "app.rate-limit.redis.tls.cert-file, app.rate-limit.redis.tls.key-file: ") {
			t.Errorf("error %v", err)
		}
	})
	if bare, err := redisTLS(config.RedisTLS{}, slog.New(slog.DiscardHandler)); bare.Certificate != nil || err != nil {
		t.Errorf("got %+v, %v", bare, err)
	}
}

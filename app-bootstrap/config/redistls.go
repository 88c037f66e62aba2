package config

import "example.com/weir/adapter-outbound-cache-redis/redislimit"

const redisTLSKey = "app.rate-limit.redis.tls"

// redisTLS refuses what would have no effect: whoever gives it believes that the
// connection is encrypted.
func (r *resolver) redisTLS(redis redisSection) RedisTLS {
	if redislimit.CheckEndpoint(redis.Endpoint) != nil {
		return RedisTLS{} // another fault says what is wrong with it
	}
	section := redis.TLS
	if !redislimit.IsSecure(redis.Endpoint) {
		for _, given := range []struct{ name, value string }{
			{"ca-file", section.CAFile},
			{"server-name", section.ServerName},
			{"cert-file", section.CertFile},
			{"key-file", section.KeyFile},
		} {
			if given.value != "" {
				r.add(join(redisTLSKey, given.name), "must be empty, because %s is not rediss://", endpointKey)
			}
		}
		return RedisTLS{}
	}
	if section.ServerName != "" {
		if err := redislimit.CheckServerName(section.ServerName); err != nil {
			r.add(join(redisTLSKey, "server-name"), "%v", err)
		}
	}
	return RedisTLS{
		RootCAs:    r.rootCAs(join(redisTLSKey, "ca-file"), section.CAFile),
		ServerName: section.ServerName,
		Client:     r.tls(redisTLSKey, tlsSection{CertFile: section.CertFile, KeyFile: section.KeyFile}),
	}
}

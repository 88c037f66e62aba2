package redislimit

import (
	"encoding/binary"
	"time"

	"example.com/weir/adapter-outbound-cache-redis/internal/rediskey"
	"example.com/weir/shared-contract/pseudonym"
	"example.com/weir/shared-contract/ratelimit"
)

const (
	// fingerprintWindow is how often the mark of the secret is refreshed by those
	// who look at it.
	fingerprintWindow = time.Minute
	// fingerprintGrace is how long it outlives the last of them.
	fingerprintGrace = 4 * time.Minute
)

// otherSecret is what readiness says of a fingerprint that is not ours.
const otherSecret = "hmac-secret is another one than that of other processes at this redis"

// newFingerprint is a probe that processes of one store share. It is the state of
// a fixed window that admits everybody and whose revision is a keyed digest. So
// the first process leaves its mark, one with the same secret refreshes it, and
// to one with another secret the state is that of a foreign revision: the program
// compares and writes in one step, with the commands that it may use anyway.
func newFingerprint(secret pseudonym.Secret) (probe, error) {
	return newProbe(ratelimit.PolicySpec{
		ID:                 "secret",
		Revision:           fingerprint(secret),
		Parameters:         ratelimit.FixedWindow{Limit: ratelimit.MaxQuota, Window: fingerprintWindow},
		MaxCost:            1,
		CleanupGrace:       fingerprintGrace,
		MaxClockRegression: fingerprintGrace,
		FailurePolicy:      ratelimit.FailClosed,
	}, rediskey.Common("probe", "secret", "state"))
}

// fingerprint is a revision. It holds 49 bits of a digest under a key of its own,
// which say nothing of the keys that subjects are digested with.
func fingerprint(secret pseudonym.Secret) int64 {
	digest := secret.Derive("weir/1/redis/fingerprint").Sum()
	return int64(binary.BigEndian.Uint64(digest[:])%uint64(ratelimit.MaxQuota)) + 1
}

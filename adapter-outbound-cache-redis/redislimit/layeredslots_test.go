package redislimit_test

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"example.com/weir/adapter-outbound-cache-redis/internal/fakeredis"
	"example.com/weir/shared-contract/pseudonym"
	"example.com/weir/shared-contract/ratelimit"
)

// Ensure that all levels of a request lie in the slot of its root, so that one
// server of a cluster has them, and a shared one in the slot of its own subject,
// whatever the root.
func TestLevelsShareASlot(t *testing.T) {
	var keys []string
	server := fakeredis.Start(t, fakeredis.Polite(func(_ string, arguments []string) fakeredis.Reply {
		const keyAt = 2
		keys = arguments[keyAt : keyAt+len(arguments[keyAt:])/2]
		return fakeredis.Reply{Text: allowedAll(arguments)}
	}))
	limiter := newLimiter(t, config(t, server.Addr,
		policySpec("agent", endlessFive), policySpec("team", endlessFive), policySpec("org", endlessFive), policySpec("global", endlessFive)))

	everybody := pseudonym.Digest{1}
	roots, shareds := make(map[uint16]bool), make(map[uint16]bool)
	const times = 1000
	for range times {
		root := randomDigest()
		spec := ratelimit.LayeredRequestSpec{Root: root, Levels: []ratelimit.Level{
			{Name: "agent", PolicyID: "agent", Subject: randomDigest(), Cost: 1},
			{Name: "team", PolicyID: "team", Subject: randomDigest(), Cost: 1},
			{Name: "org", PolicyID: "org", Subject: root, Cost: 1},
			{Name: "global", PolicyID: "global", Subject: everybody, Cost: 1, Shared: true},
		}}
		one, err := ratelimit.NewLayeredRequest(spec)
		if err != nil {
			t.Fatal(err)
		}
		decideLayers(t, limiter, one)
		if len(keys) != 4 {
			t.Fatalf("the server got the keys %q, must be 4", keys)
		}
		slot := slotOf(keys[2])
		if slotOf(keys[0]) != slot || slotOf(keys[1]) != slot {
			t.Fatalf("%q are not in one slot", keys[:3])
		}
		roots[slot] = true
		shareds[slotOf(keys[3])] = true
	}
	// Of so many roots some meet in one of the 16,384 slots, but few.
	if len(roots) < times*9/10 || len(shareds) != 1 {
		t.Errorf("%d roots are in %d slots, and the shared level is in %d; must be almost as many, and one", times, len(roots), len(shareds))
	}
}

func randomDigest() (d pseudonym.Digest) {
	for i := 0; i < len(d); i += 8 {
		binary.LittleEndian.PutUint64(d[i:], rand.Uint64())
	}
	return d
}

// slotOf is the hash slot of a key with a tag.
func slotOf(key string) uint16 { return crc16(tagOf(key)) % 16384 }

// crc16 is CRC-16/XMODEM.
func crc16(text string) uint16 {
	var sum uint16
	for _, b := range []byte(text) {
		sum ^= uint16(b) << 8
		for range 8 {
			carry := sum&0x8000 != 0
			sum <<= 1
			if carry {
				sum ^= 0x1021
			}
		}
	}
	return sum
}

// Ensure that slots are those of the cluster specification and of its tutorial.
func TestSlots(t *testing.T) {
	if got := crc16("123456789"); got != 0x31C3 {
		t.Errorf("checksum is %#x, must be 0x31c3", got)
	}
	for key, want := range map[string]uint16{"{foo}": 12182, "{bar}foo": 5061, "a{hello}": 866} {
		if got := slotOf(key); got != want {
			t.Errorf("slot of %s is %d, must be %d", key, got, want)
		}
	}
}

// Package rediskey builds the physical keys of Weir, for every capability in
// the same shape:
//
//	weir:1:<capability>:<region>:<kind>:{<tag>}:<digest>
//
// The region is public (a policy ID). Tag and digest are keyed digests, so a key
// reveals no subject: the tag, which decides the hash slot, is that of the root
// subject alone; the digest covers everything that tells two states apart.
package rediskey

import (
	"encoding/base64"
	"strconv"
	"strings"

	"example.com/weir/shared-contract/pseudonym"
)

// Prefix starts every key, so that one access rule can cover them all.
const Prefix = "weir:1:"

// Bytes kept of the keyed digests. A tag only groups keys; two roots that share
// one share a slot and nothing else. A digest tells states apart and must not
// collide: 128 bits.
const (
	tagBytes    = 6
	digestBytes = 16
)

// Builder builds keys under one secret. It is immutable and safe for concurrent
// use.
type Builder struct {
	tags    *pseudonym.Key
	digests *pseudonym.Key
}

// NewBuilder derives the builder's keys from secret.
func NewBuilder(secret pseudonym.Secret) Builder {
	return Builder{
		tags:    secret.Derive("weir/1/redis/tag"),
		digests: secret.Derive("weir/1/redis/digest"),
	}
}

// Common is a key that no secret is part of, so that processes with different
// secrets meet there.
func Common(capability, region, kind string) string {
	return Prefix + capability + ":" + region + ":" + kind
}

// Family is the set of keys that differ by their subject only. It is prepared
// once per policy.
type Family struct {
	builder  Builder
	prefix   string
	region   string
	revision string
	variant  string
}

// Family prepares the keys of one region and revision. The variant (the
// algorithm) keeps states of different shape apart.
func (b Builder) Family(capability, region, kind string, revision int64, variant string) Family {
	return Family{
		builder:  b,
		prefix:   Prefix + capability + ":" + region + ":" + kind + ":{",
		region:   region,
		revision: strconv.FormatInt(revision, 10),
		variant:  variant,
	}
}

// Key is the key of subject in the slot of root.
func (f Family) Key(root, subject pseudonym.Digest) string {
	tag := f.builder.tags.Sum(string(root[:]))
	digest := f.builder.digests.Sum(f.region, f.revision, f.variant, string(subject[:]))

	var key strings.Builder
	key.Grow(len(f.prefix) + encoding.EncodedLen(tagBytes) + len("}:") + encoding.EncodedLen(digestBytes))
	key.WriteString(f.prefix)
	write(&key, tag[:tagBytes])
	key.WriteString("}:")
	write(&key, digest[:digestBytes])
	return key.String()
}

var encoding = base64.RawURLEncoding

func write(key *strings.Builder, raw []byte) {
	var text [24]byte // fits digestBytes encoded
	n := encoding.EncodedLen(len(raw))
	encoding.Encode(text[:n], raw)
	key.Write(text[:n])
}

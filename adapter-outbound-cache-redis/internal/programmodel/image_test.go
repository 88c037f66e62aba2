package programmodel_test

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"example.com/weir/adapter-outbound-cache-redis/internal/programmodel"
)

// image is all that a server holds under a key. A key of another type than the
// program's has that type's name for the model's Other.
type image struct {
	hash      map[string]string     // split
	log       []programmodel.Member // never changed
	other     string
	dump      string // the serialised value of a key of another type
	expiresAt int64  // ms since the epoch; zero: never
}

func (i image) absent() bool { return i.empty() && i.other == "" }

// empty tells that there is no state.
func (i image) empty() bool { return len(i.hash) == 0 && len(i.log) == 0 }

// with is the image with a field overwritten.
func (i image) with(field, value string) image {
	i.hash = maps.Clone(i.hash)
	i.hash[field] = value
	return i
}

func (i image) number(field string) int64 {
	n, _ := strconv.ParseInt(i.hash[field], 10, 64)
	return n
}

// untouched is a time to live that no program gives: what has it afterwards
// still expires when it did.
const untouched = 1 << 60

// key is the key as the model takes it.
func (i image) key() programmodel.Key {
	key := programmodel.Key{SortedSet: i.log, Other: i.other}
	if len(i.hash) > 0 {
		key.Hash = join(i.hash)
	}
	if i.expiresAt > 0 {
		key.TTLMillis = untouched
	}
	return key
}

// imageOf is the key that a program has left at now. What it did not touch is as
// it was before.
func imageOf(key programmodel.Key, before image, now int64) image {
	after := image{hash: split(key.Hash), log: key.SortedSet, other: key.Other, dump: before.dump}
	switch key.TTLMillis {
	case 0:
	case untouched:
		after.expiresAt = before.expiresAt
	default:
		after.expiresAt = now + key.TTLMillis
	}
	return after
}

// lives is the time to live at now, in ms; zero if the key does not expire.
func (i image) lives(now int64) int64 {
	if i.expiresAt == 0 {
		return 0
	}
	return i.expiresAt - now
}

// equals compares fields as numbers where they are: only others write leading
// zeros, and which of them a program tidies up is of no importance.
func (i image) equals(other image) bool {
	same := func(a, b string) bool { return a == b || plain(a) == plain(b) }
	return i.other == other.other && i.dump == other.dump && i.expiresAt == other.expiresAt &&
		maps.EqualFunc(i.hash, other.hash, same) && slices.Equal(i.log, other.log)
}

// same tells whether two images are the same text for text.
func (i image) same(other image) bool {
	return i.other == other.other && i.expiresAt == other.expiresAt &&
		maps.Equal(i.hash, other.hash) && slices.Equal(i.log, other.log)
}

// plain is digits without leading zeros; other text stays as it is.
func plain(text string) string {
	if strings.Trim(text, "0123456789") != "" || text == "" {
		return text
	}
	return cmp.Or(strings.TrimLeft(text, "0"), "0")
}

// otherTypes make a key of each type, to be one that is not the program's.
var otherTypes = map[string]func(ctx context.Context, p redis.Pipeliner, key string){
	"string": func(ctx context.Context, p redis.Pipeliner, key string) { p.Set(ctx, key, "", 0) },
	"list":   func(ctx context.Context, p redis.Pipeliner, key string) { p.RPush(ctx, key, "id", "l") },
	"set":    func(ctx context.Context, p redis.Pipeliner, key string) { p.SAdd(ctx, key, "id", "l") },
	"zset": func(ctx context.Context, p redis.Pipeliner, key string) {
		p.ZAdd(ctx, key, redis.Z{Score: 1, Member: "id"})
	},
	"hash": func(ctx context.Context, p redis.Pipeliner, key string) { p.HSet(ctx, key, "id", "l") },
	"stream": func(ctx context.Context, p redis.Pipeliner, key string) {
		p.XAdd(ctx, &redis.XAddArgs{Stream: key, ID: "1-1", Values: []string{"id", "l"}})
	},
}

// put makes the server hold the image under key, whatever was there.
func (i image) put(ctx context.Context, p redis.Pipeliner, key string) {
	p.Del(ctx, key)
	if i.absent() {
		return
	}
	switch {
	case i.other != "":
		otherTypes[i.other](ctx, p, key)
	case len(i.log) > 0:
		members := make([]redis.Z, len(i.log))
		for place, m := range i.log {
			members[place] = redis.Z{Member: m.Member, Score: m.Score}
		}
		p.ZAdd(ctx, key, members...)
	default:
		fields := make([]any, 0, 2+2*len(i.hash))
		fields = append(fields, "hset", key)
		for field, value := range join(i.hash) {
			fields = append(fields, field, value)
		}
		_ = p.Process(ctx, redis.NewIntCmd(ctx, fields...))
	}
	if i.expiresAt > 0 {
		_ = p.Process(ctx, redis.NewIntCmd(ctx, "pexpireat", key, i.expiresAt))
	}
}

// look asks for what the server holds under key. It can be read once the
// pipeline has been executed.
type look struct {
	other  string
	hash   *redis.MapStringStringCmd
	log    *redis.ZSliceCmd
	dump   *redis.StringCmd
	expiry *redis.IntCmd
}

// lookAt looks for a state, or, if other names another type, for a key of that.
func lookAt(ctx context.Context, p redis.Pipeliner, key string, logs bool, other string) look {
	l := look{other: other, expiry: redis.NewIntCmd(ctx, "pexpiretime", key)}
	switch {
	case other != "":
		l.dump = p.Dump(ctx, key)
	case logs:
		l.log = p.ZRangeWithScores(ctx, key, 0, -1)
	default:
		l.hash = p.HGetAll(ctx, key)
	}
	_ = p.Process(ctx, l.expiry)
	return l
}

func (l look) image() (image, error) {
	seen, err := l.value()
	if redis.HasErrorPrefix(err, "WRONGTYPE") {
		return image{other: "another type than before"}, nil
	}
	if err != nil {
		return image{}, err
	}
	expiry, err := l.expiry.Result()
	if err != nil {
		return image{}, err
	}
	switch expiry {
	case -1:
	case -2:
		return image{}, nil // gone, perhaps after its value was read
	case 0:
		return image{}, errors.New("a key that expires at the epoch")
	default:
		seen.expiresAt = expiry
	}
	return seen, nil
}

func (l look) value() (image, error) {
	switch {
	case l.other != "":
		dump, err := l.dump.Result()
		return image{other: l.other, dump: dump}, err
	case l.log != nil:
		var seen image
		members, err := l.log.Result()
		for _, z := range members {
			seen.log = append(seen.log, programmodel.Member{Member: z.Member.(string), Score: z.Score})
		}
		return seen, err
	default:
		hash, err := l.hash.Result()
		return image{hash: split(hash)}, err
	}
}

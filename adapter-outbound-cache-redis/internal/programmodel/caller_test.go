package programmodel_test

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"example.com/weir/adapter-outbound-cache-redis/internal/programmodel"
	"example.com/weir/adapter-outbound-cache-redis/internal/reply"
)

// caller calls again and again.
type caller interface {
	// next is its next call; now is about what the server's clock shows.
	next(now int64) call
	// saw notes what became of that.
	saw(after []image, answers []reply.Reply)
}

// alone is a subject that is asked for by itself, under a key.
type alone struct {
	*subject
	key string
}

func (a alone) next(now int64) call {
	next := a.subject.next(now, len(moves))
	return a.call(next)
}

func (a alone) call(next step) call {
	return call{
		program: a.program.Name, move: next.move, held: []held{a.held(next)},
		named: make([]int, next.keys), arguments: next.arguments,
	}
}

func (a alone) held(next step) held {
	return held{key: a.key, logs: a.program.logs, before: next.before, arranged: next.arranged}
}

func (a alone) saw(after []image, answers []reply.Reply) { a.subject.saw(after[0], answers[0]) }

// group are subjects that are asked for together, each by an algorithm of its own.
type group struct {
	random *rand.Rand
	levels []alone
}

func newGroup(random *rand.Rand, programs []program, key string) group {
	sizes := []int{1, 2, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 8, 9} // the last is one too many
	g := group{random: random}
	for i := range sizes[random.IntN(len(sizes))] {
		p := programs[random.IntN(len(programs))]
		g.levels = append(g.levels, alone{newSubject(random, p), fmt.Sprintf("%s:%d", key, i)})
	}
	return g
}

// next lets anything happen to one level and little to the others, so that often
// enough all of them are decided. Now and then one is asked for by itself.
func (g group) next(now int64) call {
	chosen := g.random.IntN(len(g.levels))
	if g.random.IntN(10) == 0 {
		return g.single(now, chosen)
	}
	together := call{program: programmodel.LayeredProgram}
	for i, level := range g.levels {
		some := mild
		if i == chosen {
			some = len(moves)
		}
		next := level.subject.next(now, some)
		if i == chosen {
			together.move = next.move
		}
		if next.keys != 1 || len(next.arguments) != 1 {
			next.arguments = []string{""} // as a call that was withdrawn has it
		}
		together.held = append(together.held, level.held(next))
		together.named = append(together.named, i)
		together.arguments = append(together.arguments, next.arguments[0])
	}
	if g.random.IntN(25) == 0 {
		g.malform(&together)
	}
	return together
}

func (g group) single(now int64, chosen int) call {
	next := g.levels[chosen].call(g.levels[chosen].subject.next(now, len(moves)))
	named := slices.Repeat([]int{chosen}, len(next.named))
	own := next.held[0]
	next.named, next.held = named, nil
	for i, level := range g.levels {
		one := held{key: level.key, logs: level.program.logs, before: level.stored, arranged: level.spoiled}
		if i == chosen {
			one = own
		}
		next.held = append(next.held, one)
	}
	return next
}

// malform spoils a call as a whole.
func (g group) malform(c *call) {
	c.move = "malformed as a whole"
	last := len(c.named) - 1
	switch g.random.IntN(7) {
	case 0:
		c.named, c.arguments = nil, nil
	case 1:
		c.named = c.named[:last]
	case 2:
		c.arguments = c.arguments[:last]
	case 3:
		c.arguments = append(c.arguments, c.arguments[0])
	case 4: // an algorithm that nobody knows
		c.arguments[last] = "xx1:1:60000 10 10 60000 250 1"
	default: // a key twice
		c.named = append(c.named, c.named[g.random.IntN(last+1)])
		c.arguments = append(c.arguments, c.arguments[g.random.IntN(last+1)])
	}
}

func (g group) saw(after []image, answers []reply.Reply) {
	for i, level := range g.levels {
		var answer reply.Reply // of a level that was not decided by itself
		if len(answers) == len(g.levels) {
			answer = answers[i]
		}
		level.subject.saw(after[i], answer)
	}
}

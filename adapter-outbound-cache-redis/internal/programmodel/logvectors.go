package programmodel

import (
	"fmt"
	"slices"
	"strconv"
)

func slidingLogVectors() []Vector {
	r := &recorder{program: "rate-sliding-log-v1"}
	policy := []string{"1", "60000", "100", "10", "60000", "250"}

	r.scenario(0, "1", "60000", "3", "3", "60000", "250")
	for range 4 {
		r.ask("three in any minute", 1)
		r.wait(10_000)
	}
	r.wait(19_999)
	r.ask("a millisecond before the oldest leaves", 1)
	r.wait(1)
	r.ask("the oldest has left", 1)
	r.ask("the next has not", 1)

	r.scenario(0, "1", "60000", "10", "10", "60000", "250")
	for range 3 {
		r.ask("each admission of one moment has a member", 2)
	}
	r.ask("they leave together", 7)
	r.wait(60_000)
	r.ask("a log that is empty begins again", 10)

	r.scenario(0, "1", "60000", "5", "5", "60000", "250")
	r.ask("the older", 2)
	r.wait(59_000)
	r.ask("the newer", 2)
	r.wait(1000)
	r.ask("a denial keeps what has left", 4)
	r.ask("an admission removes what has left", 3)

	r.mixedCosts()
	r.editsOfLog()

	r.scenario(0, "1", "60000", "10", "10", "60000", "250")
	r.ask("before the clock ran back", 1)
	r.wait(-100)
	r.ask("an admission is not before the last one", 1)

	r.scenario(0, "1", "60000", "10", "10", "0", "0")
	r.ask("no grace", 10)
	r.wait(59_999)
	r.ask("no grace, in the last millisecond", 1)

	r.scenario(0, "999999999999999", "316224000000", "10000", "10000", "2592000000", "2592000000")
	r.ask("the largest of everything", 10_000)
	r.ask("the largest of everything", 1)
	r.scenario(0, "1", "1", "1", "1", "0", "0")
	r.ask("the smallest of everything", 1)
	r.ask("the smallest of everything", 1)
	r.scenario(5-midnight, policy...)
	r.ask("a window that reaches back beyond the epoch", 1)
	r.ask("a window that reaches back beyond the epoch", 1)

	r.common(policy, func() { r.damagedLogs(policy) })
	return r.vectors
}

// mixedCosts asks for every cost when admissions of different costs are counted.
func (r *recorder) mixedCosts() {
	spend := func() {
		r.scenario(0, "1", "60000", "20", "20", "60000", "250")
		for _, cost := range []int64{1, 5, 2, 1, 1, 3, 7} {
			r.ask("different costs", cost)
			r.wait(1000)
		}
	}
	spend()
	for cost := range int64(20) {
		r.ask("until enough of the oldest have left", 1+cost)
	}
	spend()
	r.wait(54_999)
	r.ask("some have left: a millisecond early", 7)
	r.wait(1)
	r.ask("some have left: at the announced time", 7)
}

func (r *recorder) editsOfLog() {
	r.scenario(0, "1", "60000", "5", "5", "60000", "250")
	for range 5 {
		r.ask("usage before the edit", 1)
		r.wait(1000)
	}
	r.set(2, "8")
	r.ask("limit raised by three", 4)
	r.ask("limit raised by three", 3)
	r.set(2, "3")
	r.set(3, "3")
	for cost := range int64(3) {
		r.ask("limit lowered below usage", 1+cost)
	}

	r.scenario(0, "1", "60000", "5", "5", "60000", "250")
	r.ask("with the old grace", 1)
	r.set(4, "1000")
	r.ask("with the new grace", 1)
}

// damagedLogs plays what can be wrong with a log. Only what the program always
// reads is damaged: whose the log is, the newest admission and the oldest that
// counts.
func (r *recorder) damagedLogs(policy []string) {
	const identity, oldest, newest = 0, 1, 3
	start := func() {
		r.start(policy)
		r.ask("another one", 2)
		r.wait(5)
		r.ask("a third", 3)
		r.wait(5)
	}
	for _, score := range []float64{1, -1, 0.5} {
		start()
		r.rescore(identity, score)
		r.ask("the score of the identity is "+fmt.Sprint(score), 1)
	}
	start()
	r.rename(identity, "xx1:1:1")
	r.ask("the identity is another program's", 1)
	start()
	r.key.SortedSet = r.key.SortedSet[1:]
	r.ask("the identity is missing", 1)
	start()
	r.key.SortedSet = r.key.SortedSet[:1]
	r.ask("no admission", 1)
	for place, which := range []string{oldest: "oldest", newest: "newest"} {
		if which == "" {
			continue
		}
		for _, text := range []string{
			"", "many", "1:1", ":", ":1", "1000000000000001", "1000000000000001:", "1000000000000001:0",
			"1000000000000001:2", "1000000000000001:0.5", "1000000000000001:-1", "1000000000000001:+1", "1000000000000001:1:1",
			"1000000000000001:1 ", " 1000000000000001:1", "1000000000000001:1\n", "1000000000000001 1", "1000000000000000:1",
			"0999999999999999:1", "2000000000000000:1", "10000000000000001:1", "100000000000001:1", "1e15:1",
			"1000000000000001:99999999999999999999999999",
		} {
			start()
			r.rename(place, text)
			r.ask("the "+which+" is "+strconv.Quote(text), 1)
		}
		for _, score := range []float64{0, -1, 1 << 53} {
			start()
			r.rescore(place, score)
			r.ask("the "+which+" is of "+fmt.Sprint(score), 1)
		}
		start()
		r.rescore(place, r.key.SortedSet[place].Score+0.5)
		r.ask("the "+which+" is of a part of a millisecond", 1)
	}
	start()
	r.rename(oldest, "1000000000000001:0001")
	r.ask("leading zeros", 1)
	start()
	r.rename(oldest, "1000000000009999:1")
	r.ask("the total of the oldest is above that of the newest", 1)
	start()
	r.rename(newest, "1999999999999999:999999999999998")
	r.ask("the largest total", 1)
	start()
	r.key.SortedSet = slices.Insert(slices.Clone(r.key.SortedSet), 2, Member{"somebody else's", r.key.SortedSet[1].Score})
	r.ask("something else among the admissions", 1)
	r.wait(60_000 - 10)
	r.rename(oldest, "many")
	r.ask("what has left may be anything", 10)

	r.scenario(0, "1", "60000", "20", "20", "60000", "250")
	for _, cost := range []int64{1, 1, 5, 2} {
		r.ask("different costs", cost)
		r.wait(1000)
	}
	r.wait(56_000)
	r.rename(oldest, "1999999999999999:1")
	r.set(2, "7")
	r.set(3, "7")
	r.ask("what has left may be anything, when the wait is sought", 2)
}

// rename and rescore damage a member of the stored log.
func (r *recorder) rename(place int, name string) {
	r.key.SortedSet = slices.Clone(r.key.SortedSet)
	r.key.SortedSet[place].Member = name
	slices.SortFunc(r.key.SortedSet, Member.compare)
}

func (r *recorder) rescore(place int, score float64) {
	r.key.SortedSet = slices.Clone(r.key.SortedSet)
	r.key.SortedSet[place].Score = score
	slices.SortFunc(r.key.SortedSet, Member.compare)
}

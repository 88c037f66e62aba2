package measure

import (
	"context"
	"errors"
	"slices"
	"testing"

	"example.com/weir/bench/contender"
)

// Ensure that each round measures everything once, in an order of its own in which
// none always follows the same one, and keeps the rows in their order.
func TestInRounds(t *testing.T) {
	const rounds, count = 9, 6
	var order []int
	rows, err := InRounds(t.Context(), rounds, count, func(_ context.Context, i int) (int, error) {
		order = append(order, i)
		return i, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	followed := make(map[int]map[int]bool)
	for round, row := range rows {
		if want := []int{0, 1, 2, 3, 4, 5}; !slices.Equal(row, want) {
			t.Errorf("round %d has the rows %v", round, row)
		}
		for step := 1; step < count; step++ {
			this, before := order[round*count+step], order[round*count+step-1]
			if followed[this] == nil {
				followed[this] = make(map[int]bool)
			}
			followed[this][before] = true
		}
	}
	for one, before := range followed {
		if len(before) < count/2 {
			t.Errorf("%d only ever follows %v", one, before)
		}
	}
}

// Ensure that one measurement which fails ends the run, and so does its context.
func TestInRoundsEnds(t *testing.T) {
	failed := errors.New("failed")
	count := 0
	_, err := InRounds(t.Context(), 3, 3, func(context.Context, int) (int, error) {
		if count++; count == 5 {
			return 0, failed
		}
		return 0, nil
	})
	if !errors.Is(err, failed) || count != 5 {
		t.Errorf("error is %v after %d measurements", err, count)
	}

	ctx, cancel := context.WithCancel(t.Context())
	count = 0
	_, err = InRounds(ctx, 3, 3, func(context.Context, int) (int, error) {
		count++
		cancel()
		return 0, nil
	})
	if !errors.Is(err, context.Canceled) || count != 1 {
		t.Errorf("error is %v after %d measurements", err, count)
	}
}

// Ensure that all numbers of callers ask about all subjects, and the most of
// them about a single one too.
func TestCells(t *testing.T) {
	want := []Cell{{1, contender.Subjects}, {128, contender.Subjects}, {16, contender.Subjects}, {128, 1}}
	if got := Cells([]int{1, 128, 16}); !slices.Equal(got, want) {
		t.Errorf("loads are %v, want %v", got, want)
	}
}

// Ensure that several levels are measured under the least load and under the most,
// and once where that is the same.
func TestLayeredCells(t *testing.T) {
	for _, test := range []struct {
		callers []int
		want    []Cell
	}{
		{[]int{16, 1, 128}, []Cell{{1, contender.Subjects}, {128, contender.Subjects}}},
		{[]int{128}, []Cell{{128, contender.Subjects}}},
	} {
		if got := LayeredCells(test.callers); !slices.Equal(got, test.want) {
			t.Errorf("loads for %v are %v, want %v", test.callers, got, test.want)
		}
	}
}

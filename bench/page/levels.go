package page

import (
	"fmt"
	"slices"
	"strings"

	"example.com/weir/bench/contender"
	"example.com/weir/bench/table"
)

// singleProgram is an evaluation of one subject by itself, under the algorithm that
// the levels have.
const singleProgram = "weir/fixed-window/admission"

// levels has what more and more levels cost the server, and then a table per load
// for evaluations.
func levels(run table.Run) (string, error) {
	costs, err := levelCosts(run.Programs)
	if err != nil {
		return "", err
	}
	var text strings.Builder
	fmt.Fprintf(&text, "\n%s", costs)
	rows := run.Layered.Medians(table.MedianLayered)
	for len(rows) > 0 {
		callers := rows[0].Callers
		next := slices.IndexFunc(rows, func(l table.Layered) bool { return l.Callers != callers })
		if next < 0 {
			next = len(rows)
		}
		fmt.Fprintf(&text, "\n### Levels: %s\n\n%s", lowered(load(callers, contender.Subjects)), oneLayeredLoad(rows[:next]))
		rows = rows[next:]
	}
	return text.String() + "\n", nil
}

func levelCosts(programs table.Rounds[table.Program]) (string, error) {
	text := markdown{"| levels | Redis CPU µs | to one level | to a single evaluation | to as many single evaluations |\n|--:|--:|--:|--:|--:|\n"}
	costs := make(map[string]float64)
	for _, row := range programs.Medians(table.MedianProgram) {
		costs[row.Program] = row.Redis
	}
	for count := 1; count <= contender.MostLevels; count++ {
		name := contender.LayeredProgram(count)
		toOne, err := ratio(programs, name, contender.LayeredProgram(1))
		if err != nil {
			return "", err
		}
		toSingle, err := ratio(programs, name, singleProgram)
		if err != nil {
			return "", err
		}
		text.add(count, hundredth(costs[name]), times(toOne), times(toSingle), times(toSingle/float64(count)))
	}
	return text.text, nil
}

// ratio is the median over the rounds, as claims have it.
func ratio(programs table.Rounds[table.Program], one, other string) (float64, error) {
	ratios, err := table.ServerCPURatios(programs, one, other)
	if err != nil {
		return 0, fmt.Errorf("%s to %s: %w", one, other, err)
	}
	return table.Median(ratios), nil
}

func oneLayeredLoad(rows []table.Layered) string {
	text := markdown{"| levels | per second | p50 µs | p99 µs | client CPU µs | Redis CPU µs | allocations | commands | bytes of all keys |\n|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n"}
	for _, l := range rows {
		text.add(l.Levels, whole(l.PerSecond), whole(l.P50), whole(l.P99), tenth(l.Client), tenth(l.Redis), tenth(l.Allocs),
			l.Commands, int64(l.Levels)*l.BytesPerKey)
	}
	return text.text
}

func times(ratio float64) string { return hundredth(ratio) + " ×" }

func lowered(text string) string { return strings.ToLower(text[:1]) + text[1:] }

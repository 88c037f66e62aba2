package page

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"example.com/weir/bench/claim"
	"example.com/weir/bench/contender"
	"example.com/weir/bench/table"
)

func machine(m table.Machine) string {
	var text strings.Builder
	fmt.Fprintf(&text, "Run of %s: %d rounds with measurements of %d ms, in %d minutes, on %s, %d cores, %s; %s; %s.", m.Date, m.Rounds, m.Millis, (m.Seconds+59)/60, m.CPU, m.Cores, m.System, m.Server, m.Go)
	for _, module := range slices.Sorted(maps.Keys(m.Modules)) {
		fmt.Fprintf(&text, " %s %s.", module, m.Modules[module])
	}
	return text.String() + "\n"
}

func claims(verdicts []claim.Verdict) string {
	rows := markdown{"| what | bound | shown | kept |\n|---|---|---|---|\n"}
	for _, v := range verdicts {
		kept := "yes"
		if !v.Kept {
			kept = "**no**"
		}
		rows.add(v.Title, v.Bound, v.Text(), kept)
	}
	return rows.text
}

// evaluations has a table per load, since only rows of one load are compared.
func evaluations(rows []table.Evaluation) string {
	type cell struct{ callers, subjects int }
	var text strings.Builder
	for len(rows) > 0 {
		of := cell{rows[0].Callers, rows[0].Subjects}
		next := slices.IndexFunc(rows, func(e table.Evaluation) bool { return cell{e.Callers, e.Subjects} != of })
		if next < 0 {
			next = len(rows)
		}
		fmt.Fprintf(&text, "\n### %s\n\n%s", load(of.callers, of.subjects), oneLoad(rows[:next]))
		rows = rows[next:]
	}
	return text.String() + "\n"
}

func load(callers, subjects int) string {
	who := fmt.Sprintf("%d callers", callers)
	if callers == 1 {
		who = "One caller"
	}
	if subjects == contender.Subjects {
		return who
	}
	return who + ", one hot subject"
}

func oneLoad(rows []table.Evaluation) string {
	text := markdown{"| contender | per second | p50 µs | p99 µs | client CPU µs | Redis CPU µs | allocations | bytes per key |\n|---|--:|--:|--:|--:|--:|--:|--:|\n"}
	for _, e := range rows {
		bytes := "–"
		if e.BytesPerKey > 0 {
			bytes = strconv.FormatInt(e.BytesPerKey, 10)
		}
		text.add(e.Contender, whole(e.PerSecond), whole(e.P50), whole(e.P99), tenth(e.Client), tenth(e.Redis), tenth(e.Allocs), bytes)
	}
	return text.text
}

func programs(rows []table.Program) string {
	text := markdown{"| program and answer | Redis CPU µs |\n|---|--:|\n"}
	for _, p := range rows {
		text.add(p.Program, hundredth(p.Redis))
	}
	return text.text
}

func pages(rows []table.Page) string {
	text := markdown{"| path | per second | p50 µs | p99 µs |\n|---|--:|--:|--:|\n"}
	for _, p := range rows {
		text.add(p.Path, whole(p.PerSecond), whole(p.P50), whole(p.P99))
	}
	return text.text
}

func handlers(rows []table.Handler) string {
	text := markdown{"| handler | µs | allocations |\n|---|--:|--:|\n"}
	for _, h := range rows {
		text.add(h.Handler, hundredth(h.Time), tenth(h.Allocs))
	}
	return text.text
}

// markdown is a table that grows by rows. Its columns are not padded, so that
// a name of another length changes nothing but itself.
type markdown struct{ text string }

func (m *markdown) add(cells ...any) {
	for _, cell := range cells {
		m.text += fmt.Sprintf("| %v ", cell)
	}
	m.text += "|\n"
}

func whole(figure float64) string     { return fmt.Sprintf("%.0f", figure) }
func tenth(figure float64) string     { return fmt.Sprintf("%.1f", figure) }
func hundredth(figure float64) string { return fmt.Sprintf("%.2f", figure) }

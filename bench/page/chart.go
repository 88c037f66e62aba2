package page

import (
	"bytes"
	"image/color"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"

	"example.com/weir/bench/contender"
	"example.com/weir/bench/table"
)

// chart is a bar for each contender, at the most callers and all subjects, each
// labelled with its figure.
type chart struct {
	file  string
	title string
	of    func(table.Evaluation) float64
	label func(float64) string
}

func allCharts() []chart {
	return []chart{
		{
			"throughput.svg", "Evaluations per second, 128 callers (more is better)",
			func(e table.Evaluation) float64 { return e.PerSecond }, whole,
		},
		{
			"latency.svg", "99th percentile of latency in µs, 128 callers (less is better)",
			func(e table.Evaluation) float64 { return e.P99 }, whole,
		},
		{
			"cpu.svg", "Client CPU per evaluation in µs, 128 callers (less is better)",
			func(e table.Evaluation) float64 { return e.Client }, tenth,
		},
	}
}

// Sizes on paper.
const (
	width     = 18 * vg.Centimeter
	barWidth  = 5 * vg.Millimeter
	barPitch  = 8 * vg.Millimeter
	padding   = 3 * vg.Millimeter
	margins   = 3*vg.Centimeter + 2*padding
	roomRight = 1.12 // for the labels, as a multiple of the longest bar
)

var (
	ours   = color.RGBA{R: 0x1f, G: 0x77, B: 0xb4, A: 0xff}
	theirs = color.RGBA{R: 0xa0, G: 0xa0, B: 0xa0, A: 0xff}
)

// draw makes an SVG document.
func (c chart) draw(run table.Run) ([]byte, error) {
	rows := charted(run)
	p := plot.New()
	p.Title.Text = c.title
	p.X.Min = 0
	names := make([]string, len(rows))
	for i, row := range rows {
		names[i] = row.Contender
		if err := c.add(p, row, i); err != nil {
			return nil, err
		}
	}
	p.NominalY(names...)

	canvas := vgsvg.New(width, margins+vg.Length(len(rows))*barPitch)
	p.Draw(draw.Crop(draw.New(canvas), padding, -padding, padding, -padding))
	var svg bytes.Buffer
	_, err := canvas.WriteTo(&svg)
	return svg.Bytes(), err
}

func (c chart) add(p *plot.Plot, row table.Evaluation, at int) error {
	figure := c.of(row)
	bar, err := plotter.NewBarChart(plotter.Values{figure}, barWidth)
	if err != nil {
		return err
	}
	bar.Horizontal = true
	bar.XMin = float64(at)
	bar.LineStyle.Width = 0
	bar.Color = theirs
	if strings.HasPrefix(row.Contender, "weir/") {
		bar.Color = ours
	}
	label, err := plotter.NewLabels(plotter.XYLabels{
		XYs:    plotter.XYs{{X: figure, Y: float64(at)}},
		Labels: []string{c.label(figure)},
	})
	if err != nil {
		return err
	}
	label.Offset.X = vg.Millimeter
	label.Offset.Y = -vg.Millimeter
	p.Add(bar, label)
	p.X.Max = max(p.X.Max, figure*roomRight)
	return nil
}

// missing is a name or a label that svg does not show.
func (c chart) missing(svg []byte, run table.Run) string {
	for _, row := range charted(run) {
		for _, text := range []string{row.Contender, c.label(c.of(row))} {
			if !bytes.Contains(svg, []byte(">"+text+"<")) {
				return text
			}
		}
	}
	return ""
}

// charted are the rows that charts show, from below to above.
func charted(run table.Run) []table.Evaluation {
	var rows []table.Evaluation
	for _, row := range run.Evaluations.Medians(table.MedianEvaluation) {
		if row.Callers == chartedCallers && row.Subjects == contender.Subjects {
			rows = append(rows, row)
		}
	}
	slices.Reverse(rows)
	return rows
}

const chartedCallers = 128

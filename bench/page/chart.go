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

// chart is a bar for each thing that is compared, each labelled with its figure.
type chart struct {
	file  string
	title string
	bars  func(table.Run) []bar // from below to above
	label func(float64) string
}

type bar struct {
	name   string
	figure float64
	color  color.Color
}

func allCharts() []chart {
	return []chart{
		{
			"throughput.svg", "Evaluations per second, 128 callers (more is better)",
			contenders(func(e table.Evaluation) float64 { return e.PerSecond }), whole,
		},
		{
			"latency.svg", "99th percentile of latency in µs, 128 callers (less is better)",
			contenders(func(e table.Evaluation) float64 { return e.P99 }), whole,
		},
		{
			"cpu.svg", "Client CPU per evaluation in µs, 128 callers (less is better)",
			contenders(func(e table.Evaluation) float64 { return e.Client }), tenth,
		},
		{"levels.svg", "Redis CPU per evaluation in µs, by levels (less is better)", layers, hundredth},
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
	bars := c.bars(run)
	p := plot.New()
	p.Title.Text = c.title
	p.X.Min = 0
	names := make([]string, len(bars))
	for i, bar := range bars {
		names[i] = bar.name
		if err := c.add(p, bar, i); err != nil {
			return nil, err
		}
	}
	p.NominalY(names...)

	canvas := vgsvg.New(width, margins+vg.Length(len(bars))*barPitch)
	p.Draw(draw.Crop(draw.New(canvas), padding, -padding, padding, -padding))
	var svg bytes.Buffer
	_, err := canvas.WriteTo(&svg)
	return svg.Bytes(), err
}

func (c chart) add(p *plot.Plot, b bar, at int) error {
	drawn, err := plotter.NewBarChart(plotter.Values{b.figure}, barWidth)
	if err != nil {
		return err
	}
	drawn.Horizontal = true
	drawn.XMin = float64(at)
	drawn.LineStyle.Width = 0
	drawn.Color = b.color
	label, err := plotter.NewLabels(plotter.XYLabels{
		XYs:    plotter.XYs{{X: b.figure, Y: float64(at)}},
		Labels: []string{c.label(b.figure)},
	})
	if err != nil {
		return err
	}
	label.Offset.X = vg.Millimeter
	label.Offset.Y = -vg.Millimeter
	p.Add(drawn, label)
	p.X.Max = max(p.X.Max, b.figure*roomRight)
	return nil
}

// missing is a name or a label that svg does not show.
func (c chart) missing(svg []byte, run table.Run) string {
	for _, bar := range c.bars(run) {
		for _, text := range []string{bar.name, c.label(bar.figure)} {
			if !bytes.Contains(svg, []byte(">"+text+"<")) {
				return text
			}
		}
	}
	return ""
}

// contenders are the bars of all contenders, at the most callers and all subjects.
func contenders(figure func(table.Evaluation) float64) func(table.Run) []bar {
	return func(run table.Run) []bar {
		var bars []bar
		for _, row := range run.Evaluations.Medians(table.MedianEvaluation) {
			if row.Callers != chartedCallers || row.Subjects != contender.Subjects {
				continue
			}
			one := bar{row.Contender, figure(row), theirs}
			if strings.HasPrefix(row.Contender, "weir/") {
				one.color = ours
			}
			bars = append(bars, one)
		}
		slices.Reverse(bars)
		return bars
	}
}

const chartedCallers = 128

// layers are the bars of more and more levels, above that of a single evaluation.
func layers(run table.Run) []bar {
	programs := run.Programs.Medians(table.MedianProgram)
	bars := make([]bar, 0, contender.MostLevels+1)
	add := func(name string, fill color.Color) {
		for _, row := range programs {
			if row.Program == name {
				bars = append(bars, bar{name, row.Redis, fill})
			}
		}
	}
	for count := contender.MostLevels; count > 0; count-- {
		add(contender.LayeredProgram(count), ours)
	}
	add(singleProgram, theirs)
	return bars
}

package plot

import (
	"math"
	"strconv"
	"strings"
	"unicode"

	"markmill/notebooks"

	"github.com/go-analyze/charts"
)

// Size of a drawing in pixels.
const (
	width  = 640
	height = 360
)

// MostMarks on an axis of a Heat: a larger one would show nothing.
const MostMarks = 100

// Line is one line of a plot. A missing value is NaN.
type Line struct {
	Name   string
	Values []float64
}

// Lines draws lines over the marks of one axis.
func Lines(title, axis string, marks []string, lines []Line) ([]byte, error) {
	var data [][]float64
	var names []string
	for _, l := range lines {
		data, names = append(data, missing(l.Values)), append(names, safe(l.Name))
	}
	o := charts.NewLineChartOptionWithData(data)
	o.Title.Text, o.XAxis.Title, o.XAxis.Labels = safe(title), safe(axis), all(marks)
	o.ValueFormatter = Number
	if len(lines) > 1 {
		o.Legend.SeriesNames = names
		o.Legend.Offset = charts.OffsetStr{Left: charts.PositionRight}
	}
	p := charts.NewPainter(charts.PainterOptions{OutputFormat: charts.ChartOutputSVG, Width: width, Height: height})
	if err := p.LineChart(o); err != nil {
		return nil, err
	}
	return p.Bytes()
}

// Heat draws a map: rows[y][x] is the value at marks ys[y] and xs[x], NaN where there is none.
func Heat(title, xAxis, yAxis string, xs, ys []string, rows [][]float64) ([]byte, error) {
	data := make([][]float64, len(rows))
	for i := range rows {
		data[i] = missing(rows[i])
	}
	o := charts.NewHeatMapOptionWithData(data)
	o.Title.Text = safe(title)
	o.XAxis.Title, o.YAxis.Title, o.XAxis.Labels, o.YAxis.Labels = safe(xAxis), safe(yAxis), all(xs), all(ys)
	const readable = 150 // cells that have room for their value
	show := len(xs)*len(ys) <= readable && len(xs) <= 12
	o.ValuesLabel.Show = &show
	least, most, wide, cells := math.Inf(1), math.Inf(-1), 0, 0
	for _, row := range rows {
		for _, v := range row {
			if !math.IsNaN(v) && !math.IsInf(v, 0) {
				least, most, wide, cells = min(least, v), max(most, v), wide+len(Number(v)), cells+1
			}
		}
	}
	const half = 3                                        // of a digit's width
	o.ValuesLabel.Distance = -half * wide / max(1, cells) // the library begins a label in the middle of its cell
	o.ValuesLabel.LabelFormatter = func(_ int, _ string, v float64) (string, *charts.LabelStyle) {
		style := &charts.LabelStyle{FontStyle: charts.FontStyle{FontColor: charts.ColorBlack}}
		if v-least > (most-least)*0.7 { // a dark cell
			style.FontStyle.FontColor = charts.ColorWhite
		}
		return Number(v), style
	}
	p := charts.NewPainter(charts.PainterOptions{OutputFormat: charts.ChartOutputSVG, Width: width,
		Height: max(height, 100+24*len(ys))})
	if err := p.HeatMapChart(o); err != nil {
		return nil, err
	}
	return p.Bytes()
}

// Number writes a number with four digits.
func Number(v float64) string { return strconv.FormatFloat(v, 'g', 4, 64) }

// missing replaces what cannot be drawn by the library's word for nothing.
func missing(values []float64) []float64 {
	out := make([]float64, len(values))
	for i, v := range values {
		if out[i] = v; math.IsNaN(v) || math.IsInf(v, 0) {
			out[i] = charts.GetNullValue()
		}
	}
	return out
}

func all(list []string) []string {
	out := make([]string, len(list))
	for i, text := range list {
		out[i] = safe(text)
	}
	return out
}

// safe shortens a text, and replaces what XML cannot hold. The library escapes the rest (TestText).
func safe(text string) string {
	text = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "\uFFFD"))
	return notebooks.Cut(text, 39)
}

package main

import (
	"bytes"
	"image/color"
	"math"
	"os"
	"path/filepath"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/plotutil"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/snowlease/snowlease/bench/internal/measure"
	"github.com/snowlease/snowlease/bench/internal/peers"
)

func newPlot(title, x, y string) *plot.Plot {
	p := plot.New()
	sans := font.Font{Typeface: "Liberation", Variant: "Sans", Size: vg.Points(11)}
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = title, x, y
	p.Title.TextStyle.Font, p.Title.Padding = sans, vg.Points(8)
	for _, f := range []*font.Font{
		&p.X.Label.TextStyle.Font, &p.Y.Label.TextStyle.Font, &p.X.Tick.Label.Font, &p.Y.Tick.Label.Font, &p.Legend.TextStyle.Font,
	} {
		*f = sans
		f.Size = vg.Points(9)
	}
	p.Legend.Top = true
	grid := plotter.NewGrid()
	grid.Horizontal.Color, grid.Vertical.Color = color.Gray{225}, color.Gray{225}
	p.Add(grid)
	return p
}

// save writes the chart. Arial has the measures of the font that it is laid out in.
func save(p *plot.Plot, width, height vg.Length, file string) error {
	var svg bytes.Buffer
	w, err := p.WriterTo(width*vg.Inch, height*vg.Inch, "svg")
	if err == nil {
		_, err = w.WriteTo(&svg)
	}
	if err != nil {
		return err
	}
	text := bytes.ReplaceAll(svg.Bytes(), []byte("font-family:Liberation Sans;"), []byte("font-family:Liberation Sans,Arial,Helvetica,sans-serif;"))
	return os.WriteFile(file, text, 0o644)
}

// powers are ticks of an axis of nanoseconds.
func powers(low, high int) (ticks plot.ConstantTicks) {
	for e := low; e <= high; e++ {
		ns := math.Pow(10, float64(e))
		ticks = append(ticks, plot.Tick{Value: ns, Label: duration(ns)})
	}
	return ticks
}

// charts draws what the tables say.
func (r *Results) charts(folder string) error {
	for name, draw := range map[string]func(file string) error{
		"speed.svg": r.drawSpeeds, "latency.svg": r.drawLatencies, "sustained.svg": r.drawSustained,
	} {
		if err := draw(filepath.Join(folder, name)); err != nil {
			return err
		}
	}
	return nil
}

func (r *Results) drawSpeeds(file string) error {
	p := newPlot("One id after the other: time an id (less is better)", "", "")
	p.X.Scale, p.X.Tick.Marker = plot.LogScale{}, powers(0, 5)
	var labels []string
	var one, two plotter.XYs
	all := peers.All()
	for i := range all {
		m := all[len(all)-1-i] // from below
		if m.Name == peers.TimerOnly {
			continue
		}
		f, y := r.figure(m.String()), float64(len(labels))
		if f.Serial.NS == nil {
			continue
		}
		one = append(one, plotter.XY{X: f.Serial.median(), Y: y})
		two = append(two, plotter.XY{X: f.Parallel.median(), Y: y})
		labels = append(labels, m.String())
	}
	for i, c := range []struct {
		name   string
		points plotter.XYs
		shape  draw.GlyphDrawer
	}{{"serial", one, draw.CircleGlyph{}}, {"2 cores", two, draw.PyramidGlyph{}}} {
		s, err := plotter.NewScatter(c.points)
		if err != nil {
			return err
		}
		s.Shape, s.Color, s.Radius = c.shape, plotutil.DarkColors[i], vg.Points(4)
		p.Add(s)
		p.Legend.Add(c.name, s)
	}
	p.NominalY(labels...)
	p.X.Min, p.X.Max = min(5, p.X.Min), max(1e5, p.X.Max)
	return save(p, 11, 7.5, file)
}

// drawn are those that lines are drawn of: more could not be told apart.
var drawn = []string{
	peers.TimerOnly, peers.Generator, peers.BwmarrinDefault, bwmarrinBest,
	"sony/sonyflake/v2, best: 1 ms, 5 machine and 17 sequence bits", "yitter/idgenerator-go, default: 6 worker and 6 sequence bits",
	"edwingeng/wuid, default and best: no time in it", "google/uuid v7, best: EnableRandPool",
}

func (r *Results) lines(p *plot.Plot, points func(*Figure) plotter.XYs) error {
	for i, name := range drawn {
		xys := points(r.figure(name))
		if len(xys) == 0 {
			continue
		}
		l, err := plotter.NewLine(xys)
		if err != nil {
			return err
		}
		l.Color, l.Dashes, l.Width = plotutil.DarkColors[i%len(plotutil.DarkColors)], plotutil.Dashes(i), vg.Points(1.5)
		if name == peers.Generator {
			l.Width, l.Dashes = vg.Points(3), nil
		}
		p.Add(l)
		if name == peers.TimerOnly {
			name = "nothing: the clock of the measurement"
		}
		p.Legend.Add(name, l)
	}
	return nil
}

func (r *Results) drawLatencies(file string) error {
	p := newPlot("Latency of single calls, two goroutines on two cores", "", "")
	p.Y.Scale, p.Y.Tick.Marker = plot.LogScale{}, powers(0, 11)
	p.Legend.Left = true
	if err := r.lines(p, func(f *Figure) plotter.XYs {
		l := f.Latency[plain].Latencies
		var xys plotter.XYs
		for x, y := range []float64{l.P50, l.P99, l.P999, l.P9999, l.Max} {
			xys = append(xys, plotter.XY{X: float64(x), Y: max(1, y)})
		}
		return xys
	}); err != nil {
		return err
	}
	p.NominalX("p50", "p99", "p99.9", "p99.99", "longest")
	p.X.Min, p.X.Max = -0.2, 4.2
	return save(p, 10, 5.5, file)
}

func (r *Results) drawSustained(file string) error {
	p := newPlot("Ids since the start, one goroutine", "seconds", "million ids")
	p.Legend.Left = true
	if err := r.lines(p, func(f *Figure) plotter.XYs {
		if len(f.Steady.Windows) == 0 {
			return nil
		}
		xys := plotter.XYs{{}}
		made := 0.0
		for i, w := range f.Steady.Windows {
			made += float64(w) / 1e6
			xys = append(xys, plotter.XY{X: float64(i+1) * measure.Window.Seconds(), Y: made})
		}
		return xys
	}); err != nil {
		return err
	}
	p.X.Max *= 1.02
	return save(p, 10, 5.5, file)
}

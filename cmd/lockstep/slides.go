package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"lockstep/reports/pictures"
	"lockstep/scenarios/play"
)

// slideFlags are the options of show for pictures in a talk.
type slideFlags struct {
	wide, animate bool
	step          stepValue
}

// stepValue is the value of --step: a number, or all; 0 means that it is not set.
type stepValue int

const allSteps stepValue = -1

func (v *stepValue) Set(s string) error {
	if s == "all" {
		*v = allSteps
		return nil
	}
	n, err := strconv.Atoi(s)
	if err == nil && n < 1 {
		err = strconv.ErrRange
	}
	*v = stepValue(n)
	return err
}

func (v *stepValue) String() string {
	switch *v {
	case 0:
		return ""
	case allSteps:
		return "all"
	}
	return strconv.Itoa(int(*v))
}

func (*stepValue) Type() string { return "step" }

func (f *slideFlags) add(c *cobra.Command) {
	c.Flags().BoolVar(&f.wide, "wide", false, "draw a slide for a talk, 16 to 9: larger type, fewer words")
	c.Flags().Var(&f.step, "step", "draw a slide of the run up to its `N`-th step; with all, one for each step, in NAME-01, NAME-02, ...")
	c.Flags().BoolVar(&f.animate, "animate", false, "draw a slide that plays the run in a browser; needs --svg")
}

// set reports whether a slide is wanted, and not the usual picture.
func (f *slideFlags) set() bool { return f.wide || f.animate || f.step != 0 }

// check returns an error if the options contradict each other.
func (f *slideFlags) check(svg, png, html string) error {
	switch {
	case !f.set():
		return nil
	case html != "":
		return errors.New("--wide, --step and --animate are for --svg and --png; --html needs none of them")
	case f.animate && f.step != 0:
		return errors.New("--animate shows all steps; leave out --step")
	case f.animate && (svg == "" || png != ""):
		return errors.New("--animate needs --svg FILE, and no --png: only an SVG can move")
	case svg+png == "":
		return errors.New("--wide and --step need --svg FILE or --png FILE")
	}
	return nil
}

// drawings returns the pictures of a run that the options ask for, and the files in which they belong. There is room for each.
func (f *slideFlags) drawings(read []string, o *play.Outcome, svg, png string) ([]drawing, error) {
	s := pictures.NewSlides(o.Facts, o.Result)
	switch {
	case int(f.step) > s.Len():
		return nil, fmt.Errorf("--step %d: it must be from 1 to %d, or all", f.step, s.Len())
	case f.animate:
		return []drawing{{svg, s.WriteAnimation}}, nil
	case f.step > 0:
		return slide(s.Slide(int(f.step)), svg, png), nil
	case f.step == allSteps:
		var all []drawing
		for n := 1; n <= s.Len(); n++ {
			all = append(all, slide(s.Slide(n), numbered(svg, n, s.Len()), numbered(png, n, s.Len()))...)
		}
		return all, roomFor(read, all)
	}
	return slide(s.Whole(), svg, png), nil
}

func slide(s *pictures.Slide, svg, png string) []drawing {
	return []drawing{{svg, s.WriteSVG}, {png, s.WritePNG}}
}

// numbered puts a number before the ending of a file: run-01.svg. Names in a series sort in the order of their numbers.
func numbered(file string, n, most int) string {
	if file == "" {
		return ""
	}
	digits := max(2, len(strconv.Itoa(most)))
	ending := filepath.Ext(file)
	return fmt.Sprintf("%s-%0*d%s", strings.TrimSuffix(file, ending), digits, n, ending)
}

// roomFor makes room for a series of pictures, each as SVG and PNG, before any of them is written.
func roomFor(read []string, series []drawing) error {
	var targets []target
	for i, d := range series {
		targets = append(targets, target{[]string{"svg", "png"}[i%2], d.file})
	}
	return checkRoom(read, "", targets...)
}

package main

import (
	"fmt"
	"io"
	"time"

	"github.com/schollz/progressbar/v3"

	"lockstep/scenarios/search"
)

// progressEvery is how often a line of progress is written where the output is no terminal, such as the log of a CI job.
const progressEvery = 10 * time.Second

// A progressLine shows how far long work has come: on a terminal as one line, which disappears in the end, and elsewhere as a line
// every ten seconds. It is for one goroutine at a time. A nil progressLine shows nothing.
type progressLine struct {
	bar *progressbar.ProgressBar // on a terminal

	w           io.Writer // elsewhere
	start, last time.Time
	now         func() time.Time
	done, all   int
	what        string
}

// progress begins to show the progress of n steps; n is -1 if their number is not known.
func progress(w io.Writer, n int) *progressLine {
	if !isTerminal(w) {
		start := time.Now()
		return &progressLine{w: w, start: start, last: start, now: time.Now, all: n}
	}
	return &progressLine{bar: progressbar.NewOptions(n,
		progressbar.OptionSetWriter(w),
		progressbar.OptionClearOnFinish(),
		progressbar.OptionShowCount(),
		progressbar.OptionSetPredictTime(true),
		progressbar.OptionSetWidth(30),
	)}
}

// describe says what is under way.
func (p *progressLine) describe(what string) {
	switch {
	case p == nil:
	case p.bar != nil:
		p.bar.Describe(what)
	default:
		p.what = what
	}
}

// add counts n more steps that are done.
func (p *progressLine) add(n int) {
	if p != nil {
		p.set(p.done+n, p.all)
	}
}

// set says how many steps are done, and how many there are; all is -1 if that is not known.
func (p *progressLine) set(done, all int) {
	if p == nil {
		return
	}
	p.done, p.all = done, all
	if p.bar != nil {
		p.bar.ChangeMax(all)
		p.bar.Set(done)
		return
	}
	if now := p.now(); now.Sub(p.last) >= progressEvery {
		p.last = now
		fmt.Fprintln(p.w, p.line(now.Sub(p.start)))
	}
}

// line is the line of progress after some time.
func (p *progressLine) line(after time.Duration) string {
	text := fmt.Sprintf("  %s done after %s", search.Grouped(p.done), after.Round(time.Second))
	if p.all > 0 {
		text = fmt.Sprintf("  %s of %s done after %s", search.Grouped(p.done), search.Grouped(p.all), after.Round(time.Second))
		if p.done < p.all && p.done > p.all/50 { // the first runs may have waited for a compiler
			left := time.Duration(float64(after) / float64(p.done) * float64(p.all-p.done))
			text += fmt.Sprintf(", about %s left", left.Round(time.Second))
		}
	}
	if p.what != "" {
		text += ": " + p.what
	}
	return text
}

// finish removes the line from a terminal.
func (p *progressLine) finish() {
	if p != nil && p.bar != nil {
		p.bar.Finish()
	}
}

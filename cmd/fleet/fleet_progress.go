package main

import (
	"fmt"
	"io"
	"math"
	"os"
	"strings"
	"time"

	"golang.org/x/term"
)

// A progress shows how far a search has come: on a terminal as one line, which disappears in the end, and elsewhere as a line every
// ten seconds.
type progress struct {
	w           io.Writer
	terminal    *os.File // nil if it is none
	shown       bool     // there is a line on the terminal
	start, last time.Time
	begin       int // what was done when it began; -1 if nothing was shown yet
}

const progressEvery = 10 * time.Second

func newProgress(w io.Writer) *progress {
	p := &progress{w: w, start: time.Now(), last: time.Now(), begin: -1}
	if f, ok := w.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		p.terminal = f
	}
	return p
}

func (p *progress) show(done, active, aside, all, workers int) {
	if p.begin < 0 {
		p.begin = done
	}
	if p.terminal == nil && time.Since(p.last) < progressEvery {
		return
	}
	p.last = time.Now()
	text := p.text(time.Since(p.start), done, active, aside, all, workers)
	if p.terminal != nil {
		p.shown = true
		width, _, err := term.GetSize(int(p.terminal.Fd()))
		if err != nil {
			width = math.MaxInt
		}
		text = "\r" + barred(text, done, all, width) + "\x1b[K"
	} else {
		text += "\n"
	}
	io.WriteString(p.w, text)
}

// barCells is the length of the bar on a terminal.
const barCells = 20

// barred puts a bar before a line of progress, if there is room for both. Otherwise the line is cut: one that a terminal breaks would
// not disappear.
func barred(text string, done, all, width int) string {
	if len(text)+2+barCells+2 >= width {
		return text[:min(len(text), max(0, width-1))]
	}
	full := barCells * done / all
	return "  |" + strings.Repeat("█", full) + strings.Repeat(" ", barCells-full) + "|" + text
}

// text is the line of progress after some time.
func (p *progress) text(after time.Duration, done, active, aside, all, workers int) string {
	text := fmt.Sprintf("  %d of %d shards done after %v, %d under way, %d waiting", done, all, after.Round(time.Second), active, all-done-active-aside)
	if aside > 0 {
		text += fmt.Sprintf(", %d set aside", aside)
	}
	text += ", " + many(workers, "worker")
	if new := done - p.begin; new > 0 && all-done-active-aside > 0 { // how far the shards under way are is not known
		text += fmt.Sprintf(", about %v left", (after / time.Duration(new) * time.Duration(all-done-aside)).Round(time.Second))
	}
	return text
}

func many(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// say prints a message.
func (p *progress) say(format string, args ...any) {
	p.line("lockstep: " + fmt.Sprintf(format, args...))
}

// line prints a line above that of the progress.
func (p *progress) line(text string) {
	p.finish()
	if text != "" {
		fmt.Fprintln(p.w, text)
	}
}

// finish removes the line of progress from a terminal.
func (p *progress) finish() {
	if p.shown {
		p.shown = false
		io.WriteString(p.w, "\r\x1b[K")
	}
}

package reports

import (
	"io"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"lockstep/checker"
	"lockstep/checker/facts"
	"lockstep/reports/internal/sample"
)

// A word that is too long for an indented line is broken, and wrapping comes to an end.
func TestLongWordsEnd(t *testing.T) {
	h := sample.PauseAfterAcquire("single", "plain")
	for i := range h.Events {
		h.Events[i].Error, h.Events[i].Value = strings.Repeat("x", 10<<10), strings.Repeat("y", 10<<10)
	}
	r, w := io.Pipe()
	go func() {
		w.CloseWithError(Text(w, facts.Of(h), checker.Check(facts.Of(h), nil), TextOptions{Verbose: true, Messages: true}))
	}()
	stop := time.AfterFunc(20*time.Second, func() { r.CloseWithError(io.ErrShortWrite) })
	defer stop.Stop()
	text, err := io.ReadAll(io.LimitReader(r, 1<<20))
	if err != nil || len(text) == 1<<20 {
		t.Fatalf("no end after %d bytes (%v)", len(text), err)
	}
	for line := range strings.Lines(string(text)) {
		if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > Width {
			t.Errorf("%d columns: %s", n, line)
		}
	}
}

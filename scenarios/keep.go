package scenarios

import (
	"flag"
	"fmt"
	"hash/fnv"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"lockstep/checker"
	"lockstep/reports/explorer"
	"lockstep/scenarios/play"
)

// keep writes files about a run to the directory of go test -artifacts: the timeline, the history, a page to explore a run that
// violates something or proves nothing, and the scenario with only this run. The files are named after the run's test, because the
// directory that go test makes is not.
func keep(t testing.TB, name string, o *play.Outcome) {
	t.Helper()
	for _, f := range filesOf(o) {
		keepFile(t, fileName(name)+f.ending, f.write)
	}
}

// A keptFile is a file about a run, with the words for it in a list of runs.
type keptFile struct {
	ending, name string
	write        func(io.Writer) error
}

func filesOf(o *play.Outcome) []keptFile {
	text := func(s string) func(io.Writer) error {
		return func(w io.Writer) error {
			_, err := io.WriteString(w, s)
			return err
		}
	}
	page := keptFile{pageEnding, "scenario", text(pageOf(o))}
	if o.Report != nil {
		return []keptFile{{".report.txt", "report", text(fmt.Sprintf("%s\n\n%s\n", o.Report, o.Report.Stacks))}, page}
	}
	all := []keptFile{{".txt", "timeline", text(o.Timeline())}, {".jsonl", "history", func(w io.Writer) error {
		_, err := o.History.WriteTo(w)
		return err
	}}, page}
	if o.Result.Verdict != checker.Safe && o.Inapplicable() == "" {
		all = append(all, keptFile{explorerEnding, "", func(w io.Writer) error { return explorer.Page(w, explorer.Link{}, o.ToExplore()) }})
	}
	return all
}

const (
	pageEnding     = ".txtar"
	explorerEnding = ".html"
)

// pageOf returns the scenario with only the run of the outcome, and without a timeline.
func pageOf(o *play.Outcome) string {
	s := *o.Scenario
	if o.Sweep != nil {
		s = *o.Sweep.Page
	}
	runs := s.Runs
	s.Runs = nil
	for _, r := range runs {
		if r.ID() == o.Run.ID() {
			r.Golden, r.Guests = "", o.Run.Guests
			s.Runs = append(s.Runs, r)
		}
	}
	return s.String()
}

// longestName limits the name of an artifact, without its extension.
const longestName = 64

// fileName converts the name of a test or a run into a file name, without an extension, that is valid on every system. If it has
// to be cut off, a hash keeps it unique.
func fileName(name string) string {
	var b strings.Builder
	for _, r := range name {
		switch {
		case r == '/':
			r = '-'
		case r >= '0' && r <= '9', r >= 'A' && r <= 'Z', r >= 'a' && r <= 'z', strings.ContainsRune("-_.+=,#[]()", r):
		default:
			r = '_'
		}
		b.WriteRune(r)
	}
	short := b.String()
	if len(short) <= longestName {
		return short
	}
	sum := fnv.New32a()
	io.WriteString(sum, name)
	return fmt.Sprintf("%s-%08x", short[:longestName-9], sum.Sum32())
}

// keepFile writes an artifact. Without -artifacts the directory would be removed at once, so it does nothing.
func keepFile(t testing.TB, name string, write func(io.Writer) error) {
	t.Helper()
	if !keeping() {
		return
	}
	f, err := os.Create(filepath.Join(t.ArtifactDir(), name)) // no other process uses the directory
	if err == nil {
		err = write(f)
		if e := f.Close(); err == nil {
			err = e
		}
	}
	if err != nil {
		t.Errorf("the artifact %s was not written: %v", name, err)
	}
}

// keeping reports whether go test keeps artifacts.
func keeping() bool {
	f := flag.Lookup("test.artifacts")
	return f != nil && f.Value.String() == "true"
}

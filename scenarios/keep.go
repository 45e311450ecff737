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

	"lockstep/scenarios/play"
)

// keep writes files about a run to the directory of go test -artifacts: the timeline, the history, which lockstep show draws, and
// the page with only this run, for lockstep run. The files are named after the test and the run, because the directory that go
// test makes is not.
func keep(t *testing.T, o *play.Outcome) {
	t.Helper()
	name := fileName(t.Name())
	if o.Report != nil {
		keepFile(t, name+".report.txt", func(w io.Writer) error {
			_, err := fmt.Fprintf(w, "%s\n\n%s\n", o.Report, o.Report.Stacks)
			return err
		})
	} else {
		keepFile(t, name+".txt", func(w io.Writer) error {
			_, err := io.WriteString(w, o.Timeline())
			return err
		})
		keepFile(t, name+".jsonl", func(w io.Writer) error {
			_, err := o.History.WriteTo(w)
			return err
		})
	}
	keepFile(t, name+".txtar", func(w io.Writer) error {
		_, err := io.WriteString(w, pageOf(o))
		return err
	})
}

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
			r.Golden = ""
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
func keepFile(t *testing.T, name string, write func(io.Writer) error) {
	t.Helper()
	if f := flag.Lookup("test.artifacts"); f == nil || f.Value.String() != "true" {
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

package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"lockstep/checker"
	"lockstep/clients"
	"lockstep/reports/explorer"
	"lockstep/reports/pictures"
	"lockstep/scenarios/play"
)

// writeArtifacts writes the files of a run into a directory for its scenario: LOCK[-for-REFERENCE][-LABEL].txt, .svg and .png with the
// timeline, .html to step through it, and .jsonl with the history. Unless drawn is set, it writes only the text and the history.
func writeArtifacts(ctx context.Context, dir string, o *play.Outcome, drawn bool) error {
	dir = filepath.Join(dir, o.Scenario.Name)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	name := clients.FileWord(o.Run.Lock)
	if r := o.Run.Reference(); r != o.Run.Lock {
		name += "-for-" + clients.FileWord(r)
	}
	if o.Run.Label != "" {
		name += "-" + o.Run.Label
	}
	name = filepath.Join(dir, name)
	ended := o.Report == nil
	drawn = drawn && ended
	var timeline *pictures.Timeline
	if drawn {
		timeline = pictures.NewTimeline(o.Facts, o.Result)
	}
	for _, a := range []struct {
		ending string
		wanted bool
		write  func(io.Writer) error
	}{
		{".report.txt", !ended, func(w io.Writer) error {
			_, err := fmt.Fprintf(w, "%s\n\n%s\n", o.Report, o.Report.Stacks)
			return err
		}},
		{".txt", ended, func(w io.Writer) error {
			_, err := io.WriteString(w, o.Timeline())
			return err
		}},
		{".jsonl", ended, func(w io.Writer) error {
			_, err := o.History.WriteTo(w)
			return err
		}},
		{".svg", drawn, timeline.WriteSVG},
		{".png", drawn, timeline.WritePNG},
		{".html", drawn, func(w io.Writer) error { return explorer.Page(w, explorer.Link{}, pageRuns([]*play.Outcome{o})...) }},
	} {
		if !a.wanted { // remove the file of an earlier run, if there is one: it does not show this run
			if info, err := os.Lstat(name + a.ending); err == nil && (info.Mode().IsRegular() || info.Mode()&os.ModeSymlink != 0) {
				os.Remove(name + a.ending)
			}
			continue
		}
		if err := writeFile(ctx, name+a.ending, a.write); err != nil {
			return err
		}
	}
	return nil
}

// apart refuses scenarios if the files of one would replace those of another.
func apart(chosen []selection) error {
	for i, s := range chosen {
		for _, other := range chosen[:i] {
			if s.scenario.Name == other.scenario.Name && (s.scenario.File != other.scenario.File || s.file != other.file) {
				return fmt.Errorf("--out: %s and %s would both be written to the directory %s; run each with its own --out", other.scenario.File, s.scenario.File, s.scenario.Name)
			}
		}
	}
	return nil
}

// rewrite renews the timelines in the scenario files, and leaves their expectations as they are.
func rewrite(c *cobra.Command, chosen []selection, outcomes []*play.Outcome) error {
	for _, s := range chosen {
		before := s.scenario.String()
		for i := range s.scenario.Runs {
			o := outcomes[0]
			outcomes = outcomes[1:]
			if o.Report != nil {
				return fmt.Errorf("%s is left as it was: the run %s did not end", s.scenario.File, o.Run.ID())
			}
			if o.Result.Verdict == checker.Inconclusive && o.ExpectedVerdict() != checker.Inconclusive {
				return fmt.Errorf("%s is left as it was: the run %s proves nothing", s.scenario.File, o.Run.ID())
			}
			s.scenario.Runs[i].Renew(o.Timeline(), o.History.Meta.Checksum)
		}
		after := s.scenario.String()
		if after == before {
			continue
		}
		err := writeFile(c.Context(), s.scenario.File, func(w io.Writer) error {
			_, err := io.WriteString(w, after)
			return err
		})
		if err != nil {
			return err
		}
		fmt.Fprintf(c.OutOrStdout(), "renewed the timelines in %s\n", s.scenario.File)
	}
	return nil
}

package main

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/jedib0t/go-pretty/v6/table"

	"lockstep/clients"
	"lockstep/clients/libraries"
	"lockstep/internal/draws"
)

// A table of verdicts fits into 80 columns if the width of the terminal is unknown, and nothing is lost.
func TestVerdictsFit(t *testing.T) {
	if testing.Short() {
		t.Skip("libraries run as WebAssembly here, which is compiled again after each edit")
	}
	draws.Turn(t, 2, 3)
	t.Setenv("COLUMNS", "")
	for _, locks := range []string{"redlock", "redsync,redlock-sequential", "redsync-fail-fast,rueidislock-setpx,redlock-extend"} {
		out, said, _ := runProgram(t, t.TempDir(), nil, "run", "--lock", locks, "client-clock-drift", "clock-drift", "hung-node-of-three")
		table, _, _ := strings.Cut(out, "\n\n")
		if !strings.Contains(table, "hung-node-of-three") {
			t.Fatalf("%s: %s%s", locks, out, said)
		}
		for line := range strings.Lines(table) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > 80 {
				t.Errorf("%s: a line has %d columns: %s", locks, n, line)
			}
		}
	}
	t.Setenv("COLUMNS", "200")
	if out, _, _ := runProgram(t, t.TempDir(), nil, "run", "clock-drift/redlock/far", "hung-node-of-three/redsync-fail-fast/short"); !strings.Contains(out, "\nhung-node-of-three redsync-fail-fast/short ") {
		t.Error(out)
	}
}

// Cells are broken between words, beginning with the widest column, and within names only if that is not enough. The lines of a cell
// stay beside the lines that they belong to.
func TestNarrow(t *testing.T) {
	header := table.Row{"name", "run", "violated", "broken"}
	rows := []table.Row{
		{"first", "redlock/wide", "lease exclusion\ndeadlock freedom", "bounded clock error\nnone"},
		{"", "single", "", ""},
		{"the second", "single", "tokens", "durable nodes"},
	}
	for _, c := range []struct {
		columns int
		want    string
	}{
		{60, `
name       run          violated         broken
first      redlock/wide lease exclusion  bounded clock error
                        deadlock freedom none
           single
the second single       tokens           durable nodes`},
		{57, `
name  run          violated         broken
first redlock/wide lease exclusion  bounded clock error
                   deadlock freedom none
      single
the second
      single       tokens           durable nodes`},
		{45, `
name
  run          violated         broken
first
  redlock/wide lease exclusion  bounded clock
                                error
               deadlock freedom none
  single
the second
  single       tokens           durable nodes`},
		{28, `
name
  run      violated  broken
first
  redlock/ lease     bounded
  wide     exclusion clock
                     error
           deadlock  none
           freedom
  single
the second
  single   tokens    durable
                     nodes`},
	} {
		if got := "\n" + narrow(c.columns, header, rows); got != c.want {
			t.Errorf("in %d columns:%s\nwant%s", c.columns, got, c.want)
		}
	}
}

// Lists fit into 80 columns if the width of the terminal is unknown.
func TestListFits(t *testing.T) {
	t.Setenv("COLUMNS", "")
	root := newApp(known{locks: clients.Locks(), libraries: libraries.Locks()})
	var out bytes.Buffer
	root.SetOut(&out)
	root.SetArgs([]string{"list"})
	if err := root.Execute(); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(out.String()) {
		if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > 80 {
			t.Errorf("a line has %d columns: %s", n, line)
		}
	}
	for _, name := range []string{"hung-node-of-three", "redlock-sequential", "rueidislock"} {
		if !strings.Contains(out.String(), "\n  "+name+" ") {
			t.Errorf("%s is not listed", name)
		}
	}
}

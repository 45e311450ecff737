package main

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"lockstep/clients"
	"lockstep/clients/libraries"
)

// A shell that asks what may come next is told the names of scenarios, runs, locks, libraries and kinds.
func TestCompletion(t *testing.T) {
	page := filepath.Join(t.TempDir(), "mine.txtar")
	const scenario = "# Mine.\n#\n# A scenario.\n\nclient c1\n  acquire\n\n-- single nodes=1 label=own --\n"
	if err := os.WriteFile(page, []byte(scenario), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		typed string
		want  string // one of what is offered, separated by commas
		not   string
	}{
		{"run pause-", "pause-after-acquire,pause-fenced", "clock-jump"},
		{"run clock-jump pause-f", "pause-fenced", ""},
		{"run crash-restart-5/", "crash-restart-5/redlock,crash-restart-5/redlock/durable", "clock-jump/redlock"},
		{"run " + page + "/", page + "/single/own", ""},
		{"run here", "txtar,:8", "jsonl"}, // no scenario: a file with that ending
		{"show here", "txtar,jsonl,:8", ""},
		{"show clock-jump clock-drift ", ":4", "pause-fenced"},
		{"matrix clock-j", "clock-jump", ""},
		{"explore pause-fenced/", "pause-fenced/fenced", ""},
		{"plot ", "clocks,wait,drift", ""},
		{"plot wait expiry", "expiry-herd", ""},
		{"help ", "run,explore", "__complete"},
		{"help plot ", "drift", "run"},
		{"list ", ":4", "txtar"},
		{"serve ", ":16", ""},
		{"check ", "jsonl,:8", ""},
		{"replay ", "txtar,:8", ""},
		{"run --lock red", "redlock,redsync,rueidislock", ""},
		{"run --lock redlock,", "redlock-extend", "none"},
		{"show --lock ", "redislock,single", ""},
		{"explore --kinds pause,", "delay,clocks", "pause"},
		{"explore --without ", "pause,network", ""},
		{"explore --property ", "lease exclusion,owner only", ""},
		{"explore --strategy ", "swarm", ""},
		{"explore --persistence ", "aof-always", ""},
		{"explore --resource ", "fenced", ""},
		{"explore --grid ", "pause=,ttl=", ""},
		{"run --on ", "sim,redis", "both"},
		{"matrix --on ", "sim,both", ""},
	} {
		words := strings.Split(tt.typed, " ")
		root := newApp(known{clients.Locks(), libraries.Locks()})
		var out bytes.Buffer
		root.SetOut(&out)
		root.SetArgs(append([]string{"__complete"}, words...))
		if err := root.Execute(); err != nil {
			t.Fatalf("%s: %v", tt.typed, err)
		}
		last := words[len(words)-1]
		head := last[:strings.LastIndex(last, ",")+1]
		var offered []string
		for line := range strings.Lines(out.String()) {
			word, _, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
			offered = append(offered, strings.TrimPrefix(word, head))
		}
		for want := range strings.SplitSeq(tt.want, ",") {
			if !slices.Contains(offered, want) {
				t.Errorf("after %q there is no %q, but %.300q", tt.typed, want, offered)
			}
		}
		if tt.not != "" && slices.Contains(offered, tt.not) {
			t.Errorf("after %q there is %q", tt.typed, tt.not)
		}
	}
}

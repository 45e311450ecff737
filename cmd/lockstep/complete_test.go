package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"lockstep/clients"
	"lockstep/clients/libraries"
)

// Shells are offered the names of scenarios, runs, locks, libraries and kinds.
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
		{"run here", "txtar,:8", "jsonl"}, // no scenario matches: files with that ending
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
		{"explore --strategy ", "lineage", ""},
		{"explore --persistence ", "aof-always", ""},
		{"explore --resource ", "fenced", ""},
		{"explore --grid ", "pause=,ttl=", ""},
		{"limits red", "redlock,redsync", "txtar"},
		{"limits single ", ":4", "redlock"},
		{"limits single --have ", "pause=,drift=", ""},
		{"run --on ", "sim,redis", "both"},
		{"matrix --on ", "sim,both", ""},
	} {
		words := strings.Split(tt.typed, " ")
		root := newApp(known{locks: clients.Locks(), libraries: libraries.Locks()})
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

// The script for bash works without the package bash-completion, and completes every name of a list.
func TestBashCompletion(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal(err)
		}
		t.Skip("there is no bash to complete anything")
	}
	dir := t.TempDir()
	write(t, filepath.Join(dir, "mine.txtar"), "")
	write(t, filepath.Join(dir, "mine.jsonl"), "")
	write(t, filepath.Join(dir, "mine.html"), "")
	write(t, filepath.Join(dir, "results", "mine.txt"), "")
	// Bash splits a line into COMP_WORDS at = as well.
	const completed = `
lockstep() { "$PROGRAM" "$@"; }
source <(lockstep completion bash)
compopt() { :; }
COMP_LINE=$1 COMP_POINT=${#1} COMP_TYPE=9
shift
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMPREPLY=()
__start_lockstep
for word in "${COMPREPLY[@]}"; do echo "${word%% *}"; done
`
	for _, c := range []struct {
		words string
		want  string // all that is offered, separated by blanks
	}{
		{"lockstep run pause-f", "pause-fenced"},
		{"lockstep run clock-offset/", "clock-offset/single clock-offset/fenced clock-offset/redlock"},
		{"lockstep run --lock redsync-t", "redsync-timeout"},
		{"lockstep run --lock redlock,redislock-", "redlock,redislock-linear redlock,redislock-no-retries"},
		{"lockstep run --lock redlock,single,redsync-t", "redlock,single,redsync-timeout"},
		{"lockstep run --lock = redlock,redsync-t", "redlock,redsync-timeout"},
		{"lockstep run --lock = redsync-t", "redsync-timeout"},
		{"lockstep explore --kinds pause,fail", "pause,failover"},
		{"lockstep explore --property tok", "tokens"},
		{"lockstep run min", "mine.txtar"},
		{"lockstep show min", "mine.jsonl mine.txtar"},
		{"lockstep run --out ", "results"},
		{"lockstep serve r", "results"},
	} {
		words := strings.Split(c.words, " ")
		line := strings.ReplaceAll(c.words, " = ", "=")
		p := exec.Command(bash, append([]string{"--norc", "--noprofile", "-c", completed, "bash", line}, words...)...)
		p.Dir = dir
		p.Env = append(os.Environ(), asProgram+"=1", "PROGRAM="+os.Args[0])
		out, err := p.CombinedOutput()
		got, want := strings.Fields(string(out)), strings.Fields(c.want)
		slices.Sort(got)
		slices.Sort(want)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s<Tab>: %q, %v; want %q", line, got, err, want)
		}
	}
}

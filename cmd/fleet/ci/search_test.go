package ci

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A workflow is the file of a workflow.
type workflow struct {
	Name        string            `yaml:"name"`
	On          map[string]any    `yaml:"on"`
	Permissions map[string]string `yaml:"permissions"`
	Concurrency struct {
		Group string `yaml:"group"`
	} `yaml:"concurrency"`
	Env  map[string]string `yaml:"env"`
	Jobs map[string]struct {
		Needs          words             `yaml:"needs"`
		If             string            `yaml:"if"`
		RunsOn         string            `yaml:"runs-on"`
		Permissions    map[string]string `yaml:"permissions"`
		TimeoutMinutes int               `yaml:"timeout-minutes"`
		Strategy       struct {
			FailFast *bool `yaml:"fail-fast"`
			Matrix   struct {
				Shard []int `yaml:"shard"`
			} `yaml:"matrix"`
		} `yaml:"strategy"`
		Steps []step `yaml:"steps"`
	} `yaml:"jobs"`
}

// job runs a job of the nightly workflow, without the steps that are named.
func (w workflow) job(t *testing.T, service, name string, shard, attempt int, without ...string) *job {
	t.Helper()
	r := newJob(t, service)
	r.leaveOut = without
	maps.Copy(r.env, w.Env)
	r.contexts["matrix"].(contexts)["shard"] = fmt.Sprint(shard)
	r.contexts["strategy"].(contexts)["job-total"] = fmt.Sprint(shardCount)
	r.contexts["github"].(contexts)["run_attempt"] = fmt.Sprint(attempt)
	r.run(w.Jobs[name].Steps)
	return r
}

func TestNightlySchema(t *testing.T) {
	if found := lint(t, "search.yml", read(t, filepath.Join(files, "search.github.yml"))); len(found) > 0 {
		t.Errorf("actionlint: %v", found)
	}
	var w workflow
	strict(t, "search.github.yml", &w)
	for i, n := range w.Jobs["shard"].Strategy.Matrix.Shard {
		if n != i+1 {
			t.Errorf("the shards must be counted from 1, and are %v", w.Jobs["shard"].Strategy.Matrix.Shard)
			break
		}
	}
	if w.Jobs["shard"].Strategy.FailFast == nil || *w.Jobs["shard"].Strategy.FailFast {
		t.Error("a shard that fails must not end the others")
	}
	if got := fmt.Sprint(w.Jobs["replay"].Needs, w.Jobs["shard"].Needs, w.Jobs["merge"].Needs); got != "[build] [build] [shard replay]" {
		t.Errorf("the jobs need %s: the merge must wait for all shards, and these not for the replay", got)
	}
	if got := w.Jobs["merge"].If; got != "${{ !cancelled() && needs.shard.result == 'success' }}" {
		t.Errorf("the merge runs if %s, and must run although something has regressed in the replay", got)
	}
}

// gh stands for the program of that name. It keeps the bodies of issue 7 and of its comments.
const gh = `set -eu
test -n "$GH_TOKEN" -a "$GH_REPO" = me/mine
echo "$*" >>"$GH_KEPT/gh.log"
next=$GH_KEPT/comment-$(($(ls "$GH_KEPT" | grep -c ^comment- || :) + 1))
case "$1 $2" in
"issue list") test ! -e "$GH_KEPT/comment-1" || echo 7 ;;
"issue create" | "issue comment") for last; do :; done; cp "$last" "$next" ;;
esac`

func TestNightly(t *testing.T) {
	if testing.Short() {
		t.Skip("it plays a search in shards")
	}
	var w workflow
	strict(t, "search.github.yml", &w)
	w.Env["SEARCH"] = strings.Join(arguments, "\n") + "\n"
	service := t.TempDir()

	w.job(t, service, "build", 0, 1).ended(false)
	for shard := 1; shard <= shardCount; shard++ {
		w.job(t, service, "shard", shard, 1).ended(false, fmt.Sprintf("shard %d/%d is complete: ", shard, shardCount))
	}
	want := alone(t, onGitHub(), runNumber)
	const compare = "Compare with the nights before"
	w.job(t, service, "replay", 0, 1).ended(false) // there is no ledger yet
	merged := func() {
		t.Helper()
		r := w.job(t, service, "merge", 0, 1, compare)
		r.ended(false)
		results := filepath.Join(service, "artifacts/search")
		same(t, "the text", read(t, filepath.Join(results, "night.txt")), want.text)
		same(t, "the JSON", read(t, filepath.Join(results, "night.json")), want.json)
		same(t, "what was saved", tree(t, filepath.Join(results, "found")), want.found)
		says(t, read(t, r.summary), 0, 0, "### Search\n\n    exploring", "\n    lease exclusion violated, broken assumption \"durable nodes\"\n")
	}
	merged()

	// A shard that was interrupted, and whose job is run again.
	shard := filepath.Join(service, "artifacts/shard-2")
	kept := interrupt(t, shard)
	w.job(t, service, "merge", 0, 1, compare).ended(true, "shard 2/3 is incomplete", "exit status 3")
	w.job(t, service, "shard", 2, 2).ended(false)
	continued(t, shard, kept)
	merged()

	// A shard that has left nothing.
	if err := os.RemoveAll(shard); err != nil {
		t.Fatal(err)
	}
	w.job(t, service, "merge", 0, 1, compare).ended(true, "lockstep: shard 2 of 3 is missing\n", "exit status 3")
	w.job(t, service, "shard", 2, 2).ended(false, "there is no artifact shard-2")
	merged()

	// On the first night, what is found is new, and the job fails. On the second, a replay finds it again.
	night := func(name, day string, attempt int) *job {
		programs := t.TempDir()
		for name, text := range map[string]string{"date": "echo " + day, "gh": gh} {
			write(t, filepath.Join(programs, name), "#!/bin/sh\n"+text+"\n")
			if err := os.Chmod(filepath.Join(programs, name), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		w.Env["PATH"] = programs + ":" + os.Getenv("PATH")
		w.Env["GH_KEPT"] = service
		return w.job(t, service, name, 0, attempt)
	}
	night("replay", "2026-11-20", 1).ended(false)
	r := night("merge", "2026-11-20", 1)
	r.ended(true, "1 new", "exit status 1")
	says(t, read(t, r.summary), 0, 0, "night 2026-11-20: 1 new")
	says(t, read(t, filepath.Join(service, "comment-1")), 0, 0, "night 2026-11-20: 1 new", "| **new** |", "https://github.com/me/mine/actions/runs/1234\n")
	says(t, read(t, filepath.Join(service, "gh.log")), 0, 0, "issue create --label lockstep --title The nightly search has found new or regressed violations --body-file comment.md\n")
	r = night("replay", "2026-11-21", 2)
	r.ended(false, "1 ongoing")
	says(t, read(t, r.summary), 0, 0, "night 2026-11-21: 0 new, 0 regressed, 1 ongoing")
	r = night("merge", "2026-11-22", 2) // after midnight: it is the same night
	r.ended(false, "1 ongoing")
	says(t, read(t, r.summary), 0, 0, "night 2026-11-21: 0 new, 0 regressed, 1 ongoing")
	if exists(filepath.Join(service, "comment-2")) {
		t.Error("there is a comment on a night without anything new")
	}
	if !exists(filepath.Join(service, "artifacts/search/lockstep-ledger.db")) {
		t.Error("the ledger is not kept with the results")
	}

	// Without the ledger of the nights before everything is new again, which the open issue is told.
	if err := os.RemoveAll(filepath.Join(service, "cache")); err != nil {
		t.Fatal(err)
	}
	night("replay", "2026-11-23", 3).ended(false)
	night("merge", "2026-11-23", 3).ended(true, "1 new", "exit status 1")
	says(t, read(t, filepath.Join(service, "comment-2")), 0, 0, "night 2026-11-23: 1 new")
	says(t, read(t, filepath.Join(service, "gh.log")), 0, 0, "issue comment 7 --body-file comment.md\n")

	w.Env["SEARCH"] = ""
	w.job(t, service, "shard", 1, 1).ended(true, "SEARCH: must have the arguments of lockstep explore, each on a line of its own")
	w.Env["SEARCH"] = "--lock=none\n"
	w.job(t, service, "shard", 1, 1).ended(true, "exit status 3")
}

package main

import (
	"flag"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

var rewriteReadme = flag.Bool("rewrite", false, "renew what the README shows of the program's output")

// The README shows what the program prints and what compiles.
func TestREADME(t *testing.T) {
	const file = "../../README.md"
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	readme := string(data)

	show := []string{
		"run", "pause-after-acquire/redlock", "pause-fenced", "clock-jump", "clock-drift", "crash-restart-aof", "failover-lag",
		"release-race", "lost-update/nolock/many", "lost-update/watch/many",
	}
	out := command(t, append(os.Environ(), asProgram+"=1"), os.Args[0], show...)
	out = regexp.MustCompile(` \([0-9.]+m?s\)`).ReplaceAllString(out, "")
	out = regexp.MustCompile(`(?m) +$`).ReplaceAllString(out, "")
	block := regexp.MustCompile("(?s)(<!-- verdicts:[^>]*-->\n```\n).*?(```\n<!-- /verdicts -->)")
	want := block.ReplaceAllString(readme, "${1}$$ lockstep "+strings.Join(show, " ")+"\n"+strings.ReplaceAll(out, "$", "$$")+"${2}")
	story := command(t, append(os.Environ(), asProgram+"=1"), os.Args[0], "run", "failover-lag/single", "-v")
	why := regexp.MustCompile(`(?s)why lease.*?\n\n`).FindString(story)
	block = regexp.MustCompile("(?s)(<!-- story:[^>]*-->\n```\n).*?(```\n<!-- /story -->)")
	want = block.ReplaceAllString(want, "${1}$$ lockstep run failover-lag/single -v\n...\n"+strings.TrimSuffix(why, "\n")+"${2}")
	survey := []string{
		"matrix", "pause-after-acquire", "clock-jump", "clock-offset", "crash-restart-5", "failover-sentinel", "hung-node-of-three",
		"holder-cut-off", "--lock", "redlock,redsync,single,redislock,rueidislock",
	}
	c := exec.Command(os.Args[0], survey...)
	c.Env = append(os.Environ(), asProgram+"=1")
	found, err := c.Output()
	if c.ProcessState == nil || c.ProcessState.ExitCode() != exitUnexpected { // the libraries do worse in some of these
		t.Fatalf("lockstep matrix: %v\n%s", err, found)
	}
	table, _, _ := strings.Cut(string(found), "redsync (")
	table = regexp.MustCompile(`(?m) +$`).ReplaceAllString(table, "")
	block = regexp.MustCompile("(?s)(<!-- matrix:[^>]*-->\n```\n).*?(```\n<!-- /matrix -->)")
	want = block.ReplaceAllString(want, "${1}$$ lockstep "+strings.Join(survey, " ")+"\n"+table+"...\n${2}")
	if *rewriteReadme {
		if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if want != readme {
		t.Error("the table of the README is not what lockstep run prints; go test ./cmd/lockstep -run README -rewrite renews it")
	}

	example, err := os.ReadFile("../../scenarios/example_test.go")
	if err != nil {
		t.Fatal(err)
	}
	code := regexp.MustCompile("(?s)```go\npackage mylock\n\nimport .*?\n\\)\n\n(.*?)```").FindStringSubmatch(readme)
	if code == nil || !strings.Contains(string(example), code[1]) {
		t.Error("the Go code of the README is not part of scenarios/example_test.go, which compiles")
	}
}

package scenarios_test

import (
	"encoding/xml"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// What go test -artifacts keeps of a call is one directory: a list of its runs, worst first and judged by the claims of the test, a report
// for CI servers, and the files that they name. The scenario of a failure plays again with the lock of the test.
func TestArtifacts(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	const known = "pause-fenced/fenced/unchecked=ticket <b>123</b>;release-race/single=ticket 5"
	env := []string{knownRuns + "=" + known, "GITHUB_ACTIONS="}
	keep := func() (string, string) {
		t.Helper()
		os.RemoveAll(filepath.Join(dir, "_artifacts"))
		out, passed := binary(t, env, "-test.run=^TestKnownLock$", "-test.artifacts", "-test.outputdir="+dir)
		if passed {
			t.Errorf("the test passed:\n%s", out)
		}
		kept, err := filepath.Glob(filepath.Join(dir, "_artifacts", "*", "*", "index.html"))
		if len(kept) == 0 {
			kept, err = filepath.Glob(filepath.Join(dir, "_artifacts", "*", "index.html"))
		}
		if err != nil || len(kept) != 1 {
			t.Fatalf("%v, kept %v:\n%s", err, kept, out)
		}
		return out, filepath.Dir(kept[0])
	}
	out, kept := keep()
	list, report := read(t, filepath.Join(kept, "index.html")), read(t, filepath.Join(kept, "junit.xml"))

	var order []string
	for _, m := range regexp.MustCompile(`<td class="run">(?:<a[^>]*>)?<bdi>([^<]*)</bdi>.*<td class="(\w+)" data-name="claim:">([^<]*)</td>`).FindAllStringSubmatch(list, -1) {
		order = append(order, m[1]+" "+m[3])
	}
	want := []string{"pause-fenced/single BROKEN", "release-race/single UNEXPECTED", "pause-fenced/fenced/unchecked known"}
	if !slices.Equal(order, want) {
		t.Errorf("the list has %q, want %q", order, want)
	}
	for _, w := range []string{
		"<h1>TestKnownLock</h1>", "3 runs: 3 proved (1 known; 1 broken; 1 not as expected)", "It survives a breach of bounded pause.", "ticket &lt;b&gt;123&lt;/b&gt;",
		"the claim is that the lock survives a breach of bounded pause", "go test -run &#39;^TestKnownLock$/^pause-fenced$/^single$&#39; lockstep/scenarios",
	} {
		if !strings.Contains(list, w) {
			t.Errorf("the list has no %q", w)
		}
	}
	if strings.Contains(list, "lockstep run") || strings.Contains(list, "<script") || regexp.MustCompile(`(src|href)="(https?:|//)`).MatchString(list) {
		t.Error("the list has a command about another lock, a script, or a link to elsewhere")
	}
	explored := 0
	for _, m := range regexp.MustCompile(`href="([^"]*)"`).FindAllStringSubmatch(list, -1) {
		name, err := url.PathUnescape(m[1])
		if m[1] == "data:," {
			continue
		}
		if text, err2 := os.ReadFile(filepath.Join(kept, name)); err != nil || err2 != nil || len(text) == 0 {
			t.Errorf("%s leads nowhere: %v %v", m[1], err, err2)
		} else if strings.HasSuffix(name, ".html") {
			explored++
		}
	}
	if explored != 2 { // those that violate something
		t.Errorf("%d pages to explore a run, want 2", explored)
	}

	var suites struct {
		Failures int `xml:"failures,attr"`
		Suites   []struct {
			Cases []struct {
				Name    string `xml:"name,attr"`
				Class   string `xml:"classname,attr"`
				Failure *struct {
					Message string `xml:"message,attr"`
					Text    string `xml:",chardata"`
				} `xml:"failure"`
				Skipped *struct {
					Message string `xml:"message,attr"`
				} `xml:"skipped"`
			} `xml:"testcase"`
		} `xml:"testsuite"`
	}
	if err := xml.Unmarshal([]byte(report), &suites); err != nil {
		t.Fatal(err)
	}
	statuses := map[string]string{}
	for _, s := range suites.Suites {
		for _, c := range s.Cases {
			name := c.Class + " " + c.Name
			switch {
			case c.Failure != nil:
				statuses[name] = "failed"
				if !strings.Contains(c.Failure.Text, "see it again: go test -run '^TestKnownLock$/") {
					t.Errorf("%s: no command in %s", name, c.Failure.Text)
				}
			case c.Skipped != nil:
				statuses[name] = "skipped"
			default:
				statuses[name] = "passed"
			}
		}
	}
	for name, want := range map[string]string{
		"TestKnownLock.pause-fenced single": "failed", "TestKnownLock.release-race single": "failed",
		"TestKnownLock.pause-fenced fenced/unchecked": "skipped",
	} {
		if statuses[name] != want {
			t.Errorf("%s is %s, want %s", name, statuses[name], want)
		}
	}

	if _, again := keep(); read(t, filepath.Join(again, "index.html")) != list || read(t, filepath.Join(again, "junit.xml")) != report {
		t.Error("the same runs gave other files")
	} else {
		kept = again
	}

	replay := regexp.MustCompile(`to play it with this lock: LOCKSTEP_REPLAY='([^']*TestKnownLock-pause-fenced-single\.txtar)' go test -run '(\^TestKnownLock\$)' lockstep/scenarios\n`).FindStringSubmatch(out)
	if replay == nil {
		t.Fatalf("nothing says how to play the scenario again:\n%s", out)
	}
	// The page names single. The lock of the test takes its place, even if it is another one by then.
	file := filepath.Join(kept, filepath.Base(replay[1]))
	if page := read(t, file); !strings.Contains(page, "\n-- single ") || strings.Contains(page, "TestKnownLock") {
		t.Errorf("the page is\n%s", page)
	}
	c := exec.Command(os.Args[0], "-test.run="+replay[2])
	c.Env = append(os.Environ(), append(env, "LOCKSTEP_REPLAY="+file)...)
	text, err := c.CombinedOutput()
	for _, w := range []string{"1 run: 1 proved (1 broken)", "the claim is that the lock survives a breach of bounded pause", "see it again: LOCKSTEP_REPLAY='" + file + "' go test -run "} {
		if err == nil || !strings.Contains(string(text), w) {
			t.Errorf("%v; the replay does not say %q:\n%s", err, w, text)
		}
	}
	c = exec.Command(os.Args[0], "-test.run=^TestMine$", "-test.v")
	c.Env = append(os.Environ(), mine+"=panics", "LOCKSTEP_REPLAY="+file)
	if text, _ := c.CombinedOutput(); !strings.Contains(string(text), "panic: assignment to entry in nil map") {
		t.Errorf("the replay did not play the lock of the test:\n%s", text)
	}
	c = exec.Command(os.Args[0], "-test.run=^TestMine$")
	c.Env = append(os.Environ(), "LOCKSTEP_REPLAY="+file+".gone")
	if text, _ := c.CombinedOutput(); !strings.Contains(string(text), "LOCKSTEP_REPLAY: "+file+".gone: there is no such file\n") {
		t.Errorf("a file that does not exist:\n%s", text)
	}
}

//go:build !js

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"

	"lockstep/internal/draws"
	"lockstep/scenarios/course/pack"
)

// A course is the same each time. From a copy of its lab, without any module and without a network, the exercises compile as they are handed
// out, and a solution gets its points.
func TestCourse(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles the lab, which takes a minute the first time")
	}
	draws.Turn(t, 2, 4) // not on the day of TestMatrixPage, because both take long
	dir := filepath.Join(t.TempDir(), "course")
	var sums string
	for range 2 {
		if out, code := program(t, "course", "--out", dir); code != exitExpected {
			t.Fatalf("status %d: %s", code, out)
		}
		again := read(t, filepath.Join(dir, "SHA256SUMS"))
		if sums != "" && sums != again {
			t.Error("the second course differs from the first")
		}
		sums = again
	}
	slides := read(t, filepath.Join(dir, "slides.html"))
	if n := strings.Count(slides, "<section"); n < 15 {
		t.Errorf("there are %d slides, want 15 at least", n)
	}
	if m := regexp.MustCompile(`(?:\s(?:src|href)=|url\().*`).FindString(slides); m != "" || !strings.Contains(slides, "default-src &#39;none&#39;") {
		t.Errorf("the slides need something outside: %q, or have no policy", m)
	}
	b := newBrowser(t)
	b.visit("file://" + filepath.Join(dir, "slides.html"))
	at := func(slide int) { // is at the top of the window
		b.until(fmt.Sprintf(`Math.abs(document.querySelectorAll("section")[%d].getBoundingClientRect().top) < 2`, slide-1))
	}
	at(1)
	b.press(kb.ArrowRight, kb.PageDown)
	at(3)
	b.press(kb.ArrowLeft)
	at(2)
	b.press(kb.Home, kb.ArrowLeft) // there is nothing before the first
	at(1)
	b.press(kb.End)
	at(strings.Count(slides, "<section"))
	lab := filepath.Join(t.TempDir(), "copy")
	if err := os.CopyFS(lab, os.DirFS(filepath.Join(dir, "lab"))); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(read(t, filepath.Join(lab, "go.mod"))+read(t, filepath.Join(lab, "vendor", "modules.txt")), "=>") {
		t.Error("the module of the lab refers to a directory outside")
	}
	run := func(args ...string) string {
		c := exec.CommandContext(t.Context(), "go", args...)
		c.Dir = lab
		c.Env = append(c.Environ(), "GOFLAGS=-trimpath", "GOPROXY=off", "GOMODCACHE="+filepath.Join(lab, "none"), "GOWORK=off")
		out, _ := c.CombinedOutput()
		return string(out)
	}
	if out := run("build", "./..."); out != "" {
		t.Fatalf("the lab as it is handed out does not compile:\n%s", out)
	}
	key := read(t, filepath.Join(dir, "instructor", "key", "2-get-then-del", "2-release", "lock.go"))
	if err := os.WriteFile(filepath.Join(lab, "2-release", "lock.go"), []byte(key), 0o644); err != nil {
		t.Fatal(err)
	}
	out := run("test", "./2-release", "-results=results")
	if !strings.Contains(out, "Exercise 2, A client releases only its own lock: 50 of 100 points") {
		t.Errorf("the solution does not get its points:\n%s", out)
	}
	read(t, filepath.Join(lab, "2-release", "results", "release-race-single.html"))

	submissions, results := filepath.Join(t.TempDir(), "submissions"), t.TempDir()
	if err := os.CopyFS(filepath.Join(submissions, "ann"), os.DirFS(filepath.Join(dir, "instructor", "key", "2-get-then-del"))); err != nil {
		t.Fatal(err)
	}
	if out := run("run", "./grade", "-out", results, submissions); !strings.Contains(out, "[0 50 0 0 0 0] = 50 of 600 points") {
		t.Errorf("the grader prints\n%s", out)
	}
	if got, want := read(t, filepath.Join(results, "grades.csv")), "ann,0,50,0,0,0,0,50\n"; !strings.HasSuffix(got, want) {
		t.Errorf("grades.csv is\n%s\nwant a line %s", got, want)
	}
	graded, own := read(t, filepath.Join(results, "ann", "2-release", "results.json")), read(t, filepath.Join(lab, "2-release", "results", "results.json"))
	if graded != own {
		t.Errorf("the grader gives another result than go test:\n%s\n%s", graded, own)
	}
}

// A student does the tasks of the browser lab on a phone: follows each link, predicts, moves the sliders, and sees what the answers say.
func TestBrowserLab(t *testing.T) {
	b := newBrowser(t)
	dir := filepath.Join(t.TempDir(), "course")
	if out, code := program(t, "course", "--out", dir, "--live"); code != exitExpected {
		t.Fatalf("status %d: %s", code, out)
	}
	questions, err := pack.Questions()
	b.ok(nil, err)
	lab := "file://" + filepath.Join(dir, "browser.html")
	b.size(390, 844)
	fits := func() {
		t.Helper()
		if got := eval[string](b, beyondScreen+` + (document.documentElement.scrollWidth > innerWidth ? " the page is too wide" : "")`); got != "" {
			t.Errorf("%s: beyond the edge of the screen: %s", eval[string](b, `location.href`), got)
		}
	}
	b.visit(lab)
	fits()
	if n := eval[int](b, `document.querySelectorAll("section a").length`); n != len(questions) {
		t.Fatalf("%d links for %d tasks", n, len(questions))
	}
	words := map[string]string{"ok": "kept", "violated": "violated"}
	for i, q := range questions {
		b.visit(lab)
		b.visit(eval[string](b, fmt.Sprintf(`document.querySelectorAll("section a")[%d].href`, i)))
		b.until(`!document.getElementById("live").hidden`)
		if got := eval[string](b, `document.getElementById("claim").value + document.getElementById("notice").textContent`); got != q.Claim {
			t.Errorf("%s: the link leads to claim %s", q.Heading, got)
		}
		b.click("#kept")
		for _, shows := range q.Shows {
			b.script(`
				const [run, quantity, value] = %q.split(" ");
				[...document.querySelectorAll("#runs label")].find((l) => l.querySelector("small").textContent === run).querySelector("input").click();
				for (const back of document.querySelectorAll(".quantity button:not([hidden])")) back.click();
				const vary = JSON.parse(document.getElementById("menu").textContent).claims.find((c) => c.id === %q).runs.find((r) => r.name === run).vary[quantity - 1];
				const slider = document.querySelectorAll("input[type=range]")[quantity - 1];
				slider.value = vary.values.indexOf(value);
				slider.dispatchEvent(new Event("input"))`, shows, q.Claim)
			b.until(`!document.getElementById("outcome").classList.contains("old")`)
			if got, want := b.text("#outcome strong"), words[strings.Fields(shows)[3]]; got != want {
				t.Errorf("%s: with %s the property is %s", q.Heading, shows, got)
			}
		}
		fits()
	}
	b.visit("file://" + filepath.Join(dir, "instructor", "answers.html"))
	fits()
	if got := eval[string](b, `document.getElementById("browser").nextElementSibling.textContent`); !strings.Contains(got, questions[len(questions)-1].Answer) {
		t.Errorf("the answers are\n%s", got)
	}
	b.quiet("request: blob:")
}

// The module of the lab names no directory of this machine, and no module without a package.
func TestWithoutPaths(t *testing.T) {
	const list = "# example.org/a v1.2.3\n## explicit; go 1.20\nexample.org/a\n# example.org/b v0.1.0\n## explicit; go 1.20\n# lockstep v0.0.0 => /src\n## explicit; go 1.26\nlockstep/clients\n# lockstep => /src\n"
	modules, mod := withoutPaths(list, "1.26")
	if want := "# example.org/a v1.2.3\n## explicit; go 1.20\nexample.org/a\n# lockstep v0.0.0\n## explicit; go 1.26\nlockstep/clients\n"; modules != want {
		t.Errorf("modules.txt is\n%s\nwant\n%s", modules, want)
	}
	if want := "module lab\n\ngo 1.26\n\nrequire (\n\texample.org/a v1.2.3\n\tlockstep v0.0.0\n)\n"; !strings.HasSuffix(mod, want) {
		t.Errorf("go.mod is\n%s\nwant\n%s", mod, want)
	}
}

func read(t *testing.T, file string) string {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

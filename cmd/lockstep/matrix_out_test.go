package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"lockstep/clients"
	"lockstep/clients/libraries"
	"lockstep/internal/draws"
	"lockstep/reports/pictures"
)

// picturedLocks are the columns of the picture in docs/img: locks of the literature, and widely used libraries. None of them is restless:
// otherwise the picture would change each time.
const picturedLocks = "single,redlock,fenced,watchdog,redsync,redislock"

// The picture of the matrix in docs/img is what the program draws.
func TestMatrixPicture(t *testing.T) {
	if testing.Short() {
		t.Skip("plays hundreds of runs")
	}
	k := known{locks: clients.Locks(), libraries: libraries.Locks()}
	for _, l := range k.libraries {
		if l.Restless && strings.Contains(","+picturedLocks+",", ","+l.Name+",") {
			t.Fatalf("%s is restless: leave it out of the picture", l.Name)
		}
	}
	dir := t.TempDir()
	out, code := program(t, "matrix", "--lock", picturedLocks, "--out", dir)
	if code == exitInput {
		t.Fatalf("exit status %d\n%s", code, out)
	}
	for _, name := range []string{"matrix.svg", "matrix.png"} {
		want, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join("../../docs/img", name)
		if *rewriteReadme {
			if err := os.WriteFile(file, want, 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		have, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		switch {
		case bytes.Equal(have, want):
		case filepath.Ext(name) == ".png" && runtime.GOARCH != "amd64": // sums may be rounded differently there, and edges have another shade
		case filepath.Ext(name) == ".svg":
			t.Errorf("%s is not what lockstep matrix draws; go test ./cmd/lockstep -run Matrix -rewrite renews it:\n%s\n%s",
				file, firstDifference(string(have), string(want)), firstDifference(string(want), string(have)))
		default:
			t.Errorf("%s is not what lockstep matrix draws; go test ./cmd/lockstep -run Matrix -rewrite renews it", file)
		}
	}
}

// Each cell links to the page of its run if that is in the same directory.
func TestMatrixPictureLeadsToRuns(t *testing.T) {
	draws.Seldom(t, 2, 4)
	dir := t.TempDir()
	what := []string{"delayed-restart", "pause-after-acquire", "--lock", "redlock,redsync", "--out", dir}
	for i, command := range []string{"matrix", "run", "matrix"} {
		if out, code := program(t, append([]string{command}, what...)...); code != exitExpected {
			t.Fatalf("exit status %d\n%s", code, out)
		}
		svg, err := os.ReadFile(filepath.Join(dir, "matrix.svg"))
		if err != nil {
			t.Fatal(err)
		}
		if command == "run" {
			continue
		}
		links := regexp.MustCompile(`<a href="([^"]*)"`).FindAllSubmatch(svg, -1)
		pages, err := filepath.Glob(filepath.Join(dir, "*", "*.html"))
		if err != nil {
			t.Fatal(err)
		}
		led := map[string]bool{}
		for _, l := range links {
			led[filepath.Join(dir, filepath.FromSlash(string(l[1])))] = true
		}
		if (i > 0) != (len(pages) > 0) || len(led) != len(pages) || len(links) != len(pages) {
			t.Errorf("%d links to %d of %d pages", len(links), len(led), len(pages))
		}
		for _, page := range pages {
			if !led[page] {
				t.Errorf("no cell leads to %s", page)
			}
		}
	}
}

// No cell links to anything outside the directory.
func TestPageOf(t *testing.T) {
	dir := t.TempDir()
	inside := filepath.Join(dir, "inside")
	for _, d := range []string{filepath.Join(inside, "s"), filepath.Join(inside, "s", "x.html")} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range []string{filepath.Join(dir, "x.html"), filepath.Join(inside, "s", "a b-for-c-d.html")} {
		if err := os.WriteFile(file, nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, test := range []struct{ lock, run, want string }{
		{"a b", "s/c/d", "s/a%20b-for-c-d.html"},
		{"a b", "s/c", ""},
		{"x", "s/x", ""}, // a directory
		{"x", "../x", ""},
		{"../../x", "s/../../x", ""},
		{"x", "", ""},
		{"x", "s", ""},
	} {
		if link := pageOf(inside, &pictures.MatrixCell{Lock: test.lock, Run: test.run}); link != test.want {
			t.Errorf("%s in %s leads to %q, want %q", test.lock, test.run, link, test.want)
		}
	}
}

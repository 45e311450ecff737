package main

import (
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestMutants(t *testing.T) {
	for code, want := range map[string][]string{
		"if a < b { f() }":                {"if !(a < b) { f() }", "if ((a) <= (b)) { f() }", "if a < b {  }", ""},
		"x = a && b":                      {"x = ((a) || (b))", "x = (b)", "x = (a)", ""},
		"x := y == 1":                     {"x := ((y) != (1))", "x := y == 0"},
		"for i := range 9 { continue }":   {"for i := range 10 { continue }", "for i := range 9 {  }", ""},
		"switch { case true: return }":    {"switch { case false: return }", "switch { case true:  }", "switch {  }", ""},
		`if a < b { panic("not so") }`:    nil,
		"var x int":                       nil,
		"return a*2, func() { f(a + b) }": {"return ((a) / (2)), func() { f(a + b) }", "return a*3, func() { f(a + b) }", "return a*2, func() { f(((a) - (b))) }", "return a*2, func() {  }", ""},
	} {
		const head, tail = "package p\nfunc (t *T) m() { ", " }\n"
		src := []byte(head + code + tail)
		found, err := mutants("p.go", src)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, m := range found {
			if m.line != 2 || m.function != "T.m" {
				t.Errorf("%q is in %s, line %d", m.what, m.function, m.line)
			}
			got = append(got, strings.TrimSuffix(strings.TrimPrefix(string(m.apply(src)), head), tail))
		}
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", code, got, want)
		}
	}
}

// Code that is inserted elsewhere does not change the order of the other mutants.
func TestShuffle(t *testing.T) {
	order := func(seed int, code string) (what []string) {
		all, err := mutants("p.go", []byte("package p\n"+code))
		if err != nil {
			t.Fatal(err)
		}
		shuffle(all, seed)
		for _, m := range all {
			if m.function == "f" {
				what = append(what, m.what)
			}
		}
		return what
	}
	const f = "func f() bool { return a < 1 && b < 2 && c < 3 }\n"
	if a, b := order(1, f), order(1, "func g() bool { return a < 4 }\n"+f); !slices.Equal(a, b) {
		t.Errorf("%q, then %q", a, b)
	}
	if a, b := order(1, f), order(2, f); slices.Equal(a, b) {
		t.Errorf("two seeds give %q", a)
	}
}

// TestRun makes three mutants of a module: the tests of its package kill one, one survives, and one does not compile.
func TestRun(t *testing.T) {
	if testing.Short() {
		t.Skip("it compiles tests six times")
	}
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":                         "module m\n",
		"a/a.go":                         "package a\n\nfunc Least() int {\n\treturn 5\n}\n\nvar Unused = 7\n",
		"a/a_test.go":                    "package a\n\nimport \"testing\"\n\nfunc TestLeast(t *testing.T) {\n\tif Least() != 5 {\n\t\tt.Fatal()\n\t}\n}\n",
		"scenarios/scenarios_test.go":    "package scenarios\n\nimport \"testing\"\n\nfunc TestCatalogue(*testing.T) {}\n",
		"scenarios/search/blame_test.go": "package search\n\nimport \"testing\"\n\nfunc TestBlamed(*testing.T) {}\n",
	} {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
	var out strings.Builder
	if err := run([]string{"./a"}, &out, io.Discard); err != nil {
		t.Fatal(err)
	}
	if want := "a/a.go:7 (package): `7` → `8`\nm/a                      1 killed of 2\n"; out.String() != want {
		t.Errorf("got\n%swant\n%s", out.String(), want)
	}
	if err := os.WriteFile("a/a.go", []byte("package a\n\nfunc Least() int { return 6 }\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := run([]string{"./a"}, io.Discard, io.Discard); err == nil || !strings.Contains(err.Error(), "the tests fail without a mutant") {
		t.Errorf("got %v", err)
	}
}

func TestBadArguments(t *testing.T) {
	for args, want := range map[string]string{
		"":                "name at least one package, such as ./checker",
		"-n 0 .":          "-n 0: at least 1 is required",
		"-timeout -1s .":  "-timeout -1s: more than 0 is required",
		"-seed x .":       `invalid value "x" for flag -seed`,
		"./none":          "go list ./none: exit status 1",
		"-at none.go:1 .": "there is nothing to mutate in lockstep/cmd/mutants at none.go:1",
	} {
		if err := run(strings.Fields(args), io.Discard, io.Discard); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", args, err, want)
		}
	}
}

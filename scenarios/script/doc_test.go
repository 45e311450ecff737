package script

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"lockstep/checker"
	"lockstep/clients"
	"lockstep/nodes/engine"
	"lockstep/sim/history"
)

// TestDoc parses the example in the documentation of the package.
func TestDoc(t *testing.T) {
	source, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(source), "//\n//\t# ")
	example, _, _ := strings.Cut("//\t# "+rest, "//\n// # The page")
	example = strings.ReplaceAll(strings.ReplaceAll(example, "//\t", ""), "//\n", "\n")
	s, err := Parse("doc.txtar", []byte(example))
	if err != nil {
		t.Fatalf("%v in\n%s", err, example)
	}
	if got := s.String(); got != example {
		t.Errorf("prints\n%s\nwant\n%s", got, example)
	}
}

// The documentation of the language lists every form of a must.
func TestDocumentedMusts(t *testing.T) {
	var b strings.Builder
	for _, f := range checker.MustForms() {
		line := "//\t" + f.Words
		if f.Note != "" {
			line = fmt.Sprintf("//\t%-45s  %s", f.Words, f.Note)
		}
		b.WriteString(line + "\n")
	}
	text, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	const before, after = "a bad lock would be UNKNOWN where it is UNSAFE.\n//\n", "//\n// # Names and durations"
	head, rest, _ := strings.Cut(string(text), before)
	_, tail, ok := strings.Cut(rest, after)
	if !ok {
		t.Fatalf("doc.go has no section of musts between %q and %q", before, after)
	}
	want := head + before + b.String() + after + tail
	if want == string(text) {
		return
	}
	if *rewrite {
		if err := os.WriteFile("doc.go", []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	t.Errorf("doc.go is not made of checker.MustForms; go test ./scenarios/script -run DocumentedMusts -rewrite renews it:\n%s", b.String())
}

// The documentation of the language has a line for each step, event, setting and kind.
func TestDocumentedWords(t *testing.T) {
	text, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for line := range strings.Lines(string(text)) {
		if line, ok := strings.CutPrefix(line, "//\t"); ok {
			lines = append(lines, " "+strings.Join(strings.Fields(line), " ")+" ")
		}
	}
	words := slices.Concat(sorted(stepForms), history.FaultVerbs(), WordsOf(whats), clients.Resources(), WordsOf(engine.Persistences), []string{"report"})
	for _, key := range settings {
		words = append(words, key+"=")
	}
	for _, word := range words {
		if !slices.ContainsFunc(lines, func(line string) bool {
			return strings.Contains(line, " "+word) && (strings.HasSuffix(word, "=") || strings.Contains(line, " "+word+" "))
		}) {
			t.Errorf("doc.go has no line for %s", word)
		}
	}
}

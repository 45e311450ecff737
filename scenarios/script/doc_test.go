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

// The documentation of the language lists every form of a must, a step and a fault, from the rows that the program has of them.
func TestDocumentedMusts(t *testing.T) {
	var b strings.Builder
	for _, f := range checker.MustForms() {
		line := "//\t" + f.Words
		if f.Note != "" {
			line = fmt.Sprintf("//\t%-45s  %s", f.Words, f.Note)
		}
		b.WriteString(line + "\n")
	}
	renew(t, "a bad lock would be UNKNOWN where it is UNSAFE.\n//\n", b.String(), "//\n// # Names and durations")
}

func TestDocumentedSteps(t *testing.T) {
	var steps, faults strings.Builder
	for _, f := range StepForms() {
		note := f.Note
		if f.Aside != "" {
			note += "; " + f.Aside
		}
		steps.WriteString(documented(f.Words, note, 20))
	}
	for _, f := range history.FaultRows() {
		faults.WriteString(documented(f.Form, f.Note, 26))
	}
	renew(t, "// # The steps of a client\n//\n", steps.String(), "//\n// A client that does not stay exits")
	renew(t, "// These are the faults:\n//\n", faults.String(), "//\n// A link is ")
}

// documented is a row of the documentation, with the note at the right of the words, or below them if they are long.
func documented(words, note string, width int) string {
	const most = 120
	line := fmt.Sprintf("%-*s ", width, words)
	var b strings.Builder
	if len(words) > 32 {
		b.WriteString("//\t" + words + "\n")
		line = strings.Repeat(" ", width+1)
	}
	for _, w := range strings.Fields(note) {
		if len(line)+1+len(w) > most {
			b.WriteString("//\t" + line + "\n")
			line = strings.Repeat(" ", width+1)
		}
		line += " " + w
	}
	return b.String() + "//\t" + line + "\n"
}

// renew compares the part of doc.go between two texts with what it should be, or rewrites it.
func renew(t *testing.T, before, part, after string) {
	t.Helper()
	text, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	head, rest, _ := strings.Cut(string(text), before)
	_, tail, ok := strings.Cut(rest, after)
	if !ok {
		t.Fatalf("doc.go has nothing between %q and %q", before, after)
	}
	want := head + before + part + after + tail
	if want == string(text) {
		return
	}
	if *rewrite {
		if err := os.WriteFile("doc.go", []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	t.Errorf("doc.go is not made of the rows in the code; go test ./scenarios/script -run Documented -rewrite renews it:\n%s", part)
}

// Each example is a step of its form, and each step has a form.
func TestStepExamples(t *testing.T) {
	verbs := map[string]bool{}
	for _, f := range StepForms() {
		s, err := ParseStep("c1", f.Example)
		if err != nil || s.String() != f.Example || strings.Fields(f.Example)[0] != strings.Fields(f.Words)[0] {
			t.Errorf("%s: %q is read as %v, %v", f.Words, f.Example, s, err)
		}
		verbs[strings.Fields(f.Words)[0]] = true
	}
	for verb := range stepForms {
		if !verbs[verb] {
			t.Errorf("%s has no row", verb)
		}
	}
	for _, f := range history.FaultRows() {
		s, err := ParseStep(Nemesis, f.Example)
		if err != nil || s.String() != f.Example || FaultOf(s).Verb() != strings.Fields(f.Form)[0] || f.Group == "" {
			t.Errorf("%s: %q is read as %v, %v", f.Form, f.Example, s, err)
		}
	}
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

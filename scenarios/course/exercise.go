package course

import (
	"embed"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"lockstep/checker"
	"lockstep/clients"
	"lockstep/scenarios/internal/fields"
	"lockstep/scenarios/script"
	"lockstep/sim/history"
)

// An Exercise is a task, and how its solutions are judged.
type Exercise struct {
	Number  int
	Folder  string // in the lab, such as 2-release
	Title   string
	Like    string
	Kind    string   // what Like is, in words
	Hole    string   // the function that the student writes
	With    []string // the functions of package given that a solution may use
	Idea    string
	Task    []string // its paragraphs
	Stories []Story
	Answers []Answer
	Rest    int    // points for all runs
	TTL     string // a hint for a key with another TTL than the right one
	Stuck   string // a hint for a function that does not return
	// Hints are for violations that the hint of no story explains.
	Hints map[checker.Property]string
}

// A Story is a run of the catalogue that has points of its own.
type Story struct {
	Run    string // SCENARIO/LOCK, and /LABEL if there is one
	Title  string // of its scenario
	Points int
	About  []checker.Property // the properties whose violation the hint explains
	Hint   string
}

// PerRun is how many of the points for all runs one run costs that fails.
const PerRun = 5

// Most is how many points a right solution gets.
func (e *Exercise) Most() int {
	n := e.Rest
	for _, s := range e.Stories {
		n += s.Points
	}
	for _, a := range e.Answers {
		n += a.Points
	}
	return n
}

// pages are the pages of the answers.
func (e *Exercise) pages() []*script.Scenario {
	var all []*script.Scenario
	for _, a := range e.Answers {
		all = append(all, a.Page)
	}
	return all
}

//go:embed exercises/*.txt
var texts embed.FS

// Exercises returns the exercises in their order.
func Exercises() ([]*Exercise, error) { return load(texts) }

// Find returns the exercise with a number.
func Find(number int) (*Exercise, error) {
	all, err := Exercises()
	if err != nil {
		return nil, err
	}
	if number < 1 || number > len(all) {
		return nil, fmt.Errorf("the number of an exercise must be from 1 to %d, and not %d", len(all), number)
	}
	return all[number-1], nil
}

var (
	rules = []fields.Rule{
		{Name: "exercise", Shape: fields.Line, Least: 1, Most: 1},
		{Name: "like", Shape: fields.Line, Least: 1, Most: 1},
		{Name: "kind", Shape: fields.Line, Least: 1, Most: 1},
		{Name: "file", Shape: fields.Line, Least: 1, Most: 1},
		{Name: "with", Shape: fields.Line, Least: 1, Most: 1},
		{Name: "idea", Shape: fields.Paragraph, Least: 1, Most: 1},
		{Name: "task", Shape: fields.Paragraphs, Least: 1, Most: 1},
		{Name: "story", Shape: fields.Titled, Least: 1, Most: 10},
		{Name: "hint", Shape: fields.Titled, Least: 0, Most: 10},
		{Name: "ttl", Shape: fields.Paragraph, Least: 0, Most: 1},
		{Name: "stuck", Shape: fields.Paragraph, Least: 0, Most: 1},
		{Name: "answer", Shape: fields.Line, Least: 0, Most: 10},
		{Name: "rest", Shape: fields.Line, Least: 1, Most: 1},
	}
	fileName = regexp.MustCompile(`^([1-9])-[a-z]+\.txt$`)
)

// load reads the exercises of a directory. An error names the file and the line.
func load(dir fs.FS) ([]*Exercise, error) {
	names, err := fs.Glob(dir, "exercises/*.txt")
	if err != nil {
		return nil, err
	}
	var all []*Exercise
	for _, name := range names {
		data, err := fs.ReadFile(dir, name)
		if err != nil {
			return nil, err
		}
		e, err := parse(name, data)
		if err != nil {
			return nil, err
		}
		if e.Number != len(all)+1 {
			return nil, fmt.Errorf("scenarios/course/%s: the exercises must be numbered from 1 on, each once; this one must be %d", name, len(all)+1)
		}
		all = append(all, e)
	}
	return all, nil
}

// parse reads an exercise.
func parse(name string, data []byte) (*Exercise, error) {
	base := strings.TrimPrefix(name, "exercises/")
	m := fileName.FindStringSubmatch(base)
	if m == nil {
		return nil, fmt.Errorf("scenarios/course/%s: the name of an exercise's file must be a digit and a word, such as 2-release.txt", name)
	}
	f, err := fields.Parse("scenarios/course/"+name, data, rules)
	if err != nil {
		return nil, err
	}
	number, _ := strconv.Atoi(m[1]) // a digit
	e := &Exercise{
		Number: number, Folder: strings.TrimSuffix(base, ".txt"), Title: f.Value("exercise"), Like: f.Value("like"), Kind: f.Value("kind"), Hole: f.Value("file"),
		Idea: f.Text("idea"), Task: f.Paragraphs("task"), Hints: map[checker.Property]string{},
	}
	for _, h := range f.All("ttl") {
		e.TTL = h.Text[0]
	}
	for _, h := range f.All("stuck") {
		e.Stuck = h.Text[0]
	}
	for name := range strings.FieldsSeq(f.Value("with")) {
		e.With = append(e.With, strings.TrimPrefix(name, "given."))
	}
	if _, err := clients.Find(e.Like); err != nil {
		return nil, f.Fail("like", 0, "%w", err)
	}
	if e.Rest, err = points(f.Value("rest")); err != nil {
		return nil, f.Fail("rest", 0, "%w", err)
	}
	for i, s := range f.All("story") {
		words := strings.SplitN(s.Value, " ", 3)
		if len(words) < 3 {
			return nil, f.Fail("story", i, "it must be RUN POINTS PROPERTY, with commas between several properties, as in release-race/single 40 owner only; cannot read %q", s.Value)
		}
		story := Story{Run: words[0], Hint: s.Text[0]}
		if story.Points, err = points(words[1]); err != nil {
			return nil, f.Fail("story", i, "%w", err)
		}
		if story.About, err = properties(words[2]); err != nil {
			return nil, f.Fail("story", i, "%w", err)
		}
		scenario, id, _ := strings.Cut(story.Run, "/")
		page, err := script.Find(scenario)
		if err == nil {
			_, err = page.FindRun(id)
		}
		if err != nil {
			return nil, f.Fail("story", i, "%w", err)
		}
		story.Title = page.Title
		e.Stories = append(e.Stories, story)
	}
	for i, h := range f.All("hint") {
		about, err := properties(h.Value)
		if err != nil {
			return nil, f.Fail("hint", i, "%w", err)
		}
		for _, p := range about {
			e.Hints[p] = h.Text[0]
		}
	}
	for i, line := range f.Values("answer") {
		name, n, _ := strings.Cut(line, " ")
		a := Answer{}
		if a.Page, err = findAnswer(name, e.Like); err != nil {
			return nil, f.Fail("answer", i, "%w", err)
		}
		if a.Points, err = points(n); err != nil {
			return nil, f.Fail("answer", i, "%w", err)
		}
		e.Answers = append(e.Answers, a)
	}
	return e, nil
}

func points(s string) (int, error) {
	n, err := strconv.Atoi(s)
	if err != nil || n < 1 || n > 100 {
		return 0, fmt.Errorf("the points must be a number from 1 to 100, and not %q", s)
	}
	return n, nil
}

// properties reads the names of properties, with commas in between.
func properties(s string) ([]checker.Property, error) {
	var all []checker.Property
	for name := range strings.SplitSeq(s, ",") {
		p := checker.Property(strings.TrimSpace(name))
		if !slices.Contains(checker.Properties(), p) {
			return nil, history.Unknown("property", string(p), checker.Properties())
		}
		all = append(all, p)
	}
	return all, nil
}

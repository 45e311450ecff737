// Package claims has the claims that the sources make about locks on Redis. Each claim is a text file in this directory,
// with its sources, the runs that bear on it, and the text of the debate about it. Its fields are:
//
//	claim: STATEMENT           paraphrased
//	kind: KIND                 what the runs show: shown, refuted, depends (on the goal), agreed, or judgement
//	said: WHO (KEY, PLACE)     who makes the claim, and where; KEY is a row of docs/sources.md, PLACE can be left out
//	said: WHO (quoted in KEY)  known at second hand
//	evidence: RUN ANSWER       a run of the catalogue, SCENARIO/LOCK or SCENARIO/LOCK/LABEL, and what it must show
//	conclusion:                what the evidence shows
//
//	chapter: NAME              the chapter of the debate: chapters/N-NAME.txt
//	heading: HEADING
//	draw: RUN                  the run that is drawn, one of the evidence
//	beside: RUN                a run to compare it with, or none
//	vary: SCENARIO: STEP, FROM to TO: WHAT
//	                           a quantity that readers can change in the runs of a scenario; see below
//	save: WHAT = RUN           a run of the evidence that keeps what the drawn run violates: "fencing = pause-fenced/fenced"
//	save: WHAT = STEP          a value of a quantity with which the drawn run keeps it: "a longer TTL = ttl 20s"
//	setting:                   what happens in the first run that readers can play, up to what they predict; without links and marks
//	happens:                   what happens in the runs, but never how they came out: that is read from the runs
//	decides:                   which assumption the outcome depends on, and how
//	side: WHO                  one of two sides that one can take, and below it what one has to believe for it
//
// In the STEP of a quantity, ? stands for its value and * for any word: "at 4s delay *->c1 ?". Each step like that gets the value. The step
// "ttl ?" is the TTL.
//
// An ANSWER is PROPERTY ok, PROPERTY violated, PROPERTY violated: ASSUMPTION, or a QUANTITY that the run reports. In text, {10} is a link to
// claim 10, `SET` is code, and *this* is stressed. A file is named after the number of its claim and some words: 10-pause.txt; 17a and 17b
// answer each other. Longer text stands below its field, indented.
package claims

import (
	"embed"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"

	"lockstep/docs"
	"lockstep/scenarios/internal/fields"
	"lockstep/sim/history"
)

// An Argument consists of all claims and the chapters of the debate that discuss them.
type Argument struct {
	Claims   []Claim // in the order of their numbers
	Chapters []Chapter
}

// A Claim is a statement that the sources make, with the runs that bear on it.
type Claim struct {
	ID         string // its number, such as 13a
	Text       string
	Kind       Kind
	Voices     []Voice
	Evidence   []Evidence
	Conclusion string

	Chapter string // the name of its chapter
	Heading string
	Draw    []string // the run that is drawn, and perhaps one to compare it with
	Vary    []Quantity
	Saves   []Saving
	Setting string
	Happens string
	Decides string
	Sides   []Side
}

// A Voice says who makes a claim, and where.
type Voice struct {
	Who    string
	Source *docs.Source
	Place  string // in the source; may be empty
	Quoted bool   // the source quotes them
}

// Kind says what the runs show about a claim.
type Kind string

const (
	Shown     Kind = "shown"     // the runs show that it is true
	Refuted   Kind = "refuted"   // the runs show that it is false
	Depends   Kind = "depends"   // the runs show that it is true for one goal, and not for another
	Agreed    Kind = "agreed"    // both sides make it, and the runs show that it is true
	Judgement Kind = "judgement" // no run can settle it; figures are relevant to it
)

var kinds = []Kind{Shown, Refuted, Depends, Agreed, Judgement}

// A Side is one side of the argument, and what one has to believe to take it.
type Side struct{ Who, Believes string }

// A Chapter is a page of the debate.
type Chapter struct {
	Name, Short, Title string
	Opening            []string // its paragraphs
}

//go:embed *.txt chapters/*.txt
var files embed.FS

// Load parses the claims and the chapters. An error names the file and the line.
func Load() (*Argument, error) { return load(files) }

var (
	claimRules = []fields.Rule{
		{Name: "claim", Shape: fields.Line, Least: 1, Most: 1},
		{Name: "kind", Shape: fields.Line, Least: 1, Most: 1},
		{Name: "said", Shape: fields.Line, Least: 1, Most: 20},
		{Name: "evidence", Shape: fields.Line, Least: 1, Most: 50},
		{Name: "conclusion", Shape: fields.Paragraph, Least: 1, Most: 1},
		{Name: "chapter", Shape: fields.Line, Least: 1, Most: 1},
		{Name: "heading", Shape: fields.Line, Least: 1, Most: 1},
		{Name: "draw", Shape: fields.Line, Least: 1, Most: 1},
		{Name: "beside", Shape: fields.Line, Least: 0, Most: 1},
		{Name: "vary", Shape: fields.Line, Least: 0, Most: 4},
		{Name: "save", Shape: fields.Line, Least: 0, Most: 4},
		{Name: "setting", Shape: fields.Paragraph, Least: 1, Most: 1},
		{Name: "happens", Shape: fields.Paragraph, Least: 1, Most: 1},
		{Name: "decides", Shape: fields.Paragraph, Least: 1, Most: 1},
		{Name: "side", Shape: fields.Titled, Least: 2, Most: 2},
	}
	chapterRules = []fields.Rule{
		{Name: "title", Shape: fields.Line, Least: 1, Most: 1},
		{Name: "short", Shape: fields.Line, Least: 1, Most: 1},
		{Name: "opening", Shape: fields.Paragraphs, Least: 1, Most: 1},
	}
	claimFile   = regexp.MustCompile(`^0?([1-9][0-9]?[a-z]?)-[a-z0-9-]+\.txt$`)
	chapterFile = regexp.MustCompile(`^[1-9]-([a-z0-9-]+)\.txt$`)
	reference   = regexp.MustCompile(`\{([^{}]*)\}`) // in text
)

// load parses an argument from the files of a directory.
func load(dir fs.FS) (*Argument, error) {
	a := &Argument{}
	var all []*fields.File
	read := func(pattern string, rules []fields.Rule, add func(name string, f *fields.File) error) error {
		names, err := fs.Glob(dir, pattern)
		if err != nil {
			return err
		}
		for _, name := range names {
			data, err := fs.ReadFile(dir, name)
			if err != nil {
				return err
			}
			f, err := fields.Parse("scenarios/claims/"+name, data, rules)
			if err != nil {
				return err
			}
			if err := add(name, f); err != nil {
				return err
			}
			all = append(all, f)
		}
		return nil
	}
	if err := read("chapters/*.txt", chapterRules, a.addChapter); err != nil {
		return nil, err
	}
	if err := read("*.txt", claimRules, a.addClaim); err != nil {
		return nil, err
	}
	for _, f := range all {
		if err := a.checkReferences(f); err != nil {
			return nil, err
		}
	}
	return a, nil
}

func (a *Argument) addChapter(name string, f *fields.File) error {
	m := chapterFile.FindStringSubmatch(path.Base(name))
	if m == nil {
		return fmt.Errorf("scenarios/claims/%s: the name of a chapter's file must be a digit and words, such as 4-pauses.txt", name)
	}
	a.Chapters = append(a.Chapters, Chapter{m[1], f.Value("short"), f.Value("title"), f.Paragraphs("opening")})
	return nil
}

func (a *Argument) addClaim(name string, f *fields.File) error {
	m := claimFile.FindStringSubmatch(name)
	if m == nil {
		return fmt.Errorf("scenarios/claims/%s: the name of a claim's file must be its number and words, such as 10-pause.txt or 13a-no-token.txt", name)
	}
	c := Claim{
		ID: m[1], Text: f.Value("claim"), Kind: Kind(f.Value("kind")), Conclusion: f.Text("conclusion"),
		Chapter: f.Value("chapter"), Heading: f.Value("heading"), Draw: append(f.Values("draw"), f.Values("beside")...),
		Setting: f.Text("setting"), Happens: f.Text("happens"), Decides: f.Text("decides"),
	}
	if slices.ContainsFunc(a.Claims, func(o Claim) bool { return o.ID == c.ID }) {
		return fmt.Errorf("scenarios/claims/%s: there must be only one file of claim %s", name, c.ID)
	}
	if !slices.Contains(kinds, c.Kind) {
		return f.Fail("kind", 0, "%w", history.Unknown("kind", string(c.Kind), kinds))
	}
	var chapters []string
	for _, chapter := range a.Chapters {
		chapters = append(chapters, chapter.Name)
	}
	if !slices.Contains(chapters, c.Chapter) {
		return f.Fail("chapter", 0, "%w", history.Unknown("chapter", c.Chapter, chapters))
	}
	for i, said := range f.Values("said") {
		v, err := parseVoice(said)
		if err != nil {
			return f.Fail("said", i, "%w", err)
		}
		c.Voices = append(c.Voices, v)
	}
	var runs []string
	for i, line := range f.Values("evidence") {
		e, err := parseEvidence(line)
		if err != nil {
			return f.Fail("evidence", i, "%w", err)
		}
		c.Evidence, runs = append(c.Evidence, e), append(runs, e.Run)
	}
	for i, run := range c.Draw {
		if !slices.Contains(runs, run) {
			return f.Fail([]string{"draw", "beside"}[i], 0, "a run that is shown must be one of the evidence; %s is not", run)
		}
	}
	for i, line := range f.Values("vary") {
		q, err := parseQuantity(line)
		if err != nil {
			return f.Fail("vary", i, "%w", err)
		}
		if !slices.ContainsFunc(runs, func(run string) bool { return strings.HasPrefix(run, q.Scenario+"/") }) {
			return f.Fail("vary", i, "the scenario must be that of a run of the evidence; %s is not", q.Scenario)
		}
		c.Vary = append(c.Vary, q)
	}
	for i, line := range f.Values("save") {
		saving, err := parseSaving(line, c)
		if err != nil {
			return f.Fail("save", i, "%w", err)
		}
		c.Saves = append(c.Saves, saving)
	}
	if strings.ContainsAny(c.Setting, "{}`*") {
		return f.Fail("setting", 0, "the setting is shown as plain text, so it must not contain {, }, ` or *")
	}
	for _, side := range f.All("side") {
		c.Sides = append(c.Sides, Side{side.Value, side.Text[0]})
	}
	a.Claims = append(a.Claims, c)
	return nil
}

// checkReferences returns an error if the text of a file refers to a claim that is not there.
func (a *Argument) checkReferences(f *fields.File) error {
	for _, rule := range slices.Concat(claimRules, chapterRules) {
		for i, field := range f.All(rule.Name) {
			for _, m := range reference.FindAllStringSubmatch(strings.Join(field.Text, " "), -1) {
				if !slices.ContainsFunc(a.Claims, func(c Claim) bool { return c.ID == m[1] }) {
					return f.Fail(rule.Name, i, "what stands in braces must be the number of a claim, such as {10}; there is no claim %s", m[0])
				}
			}
		}
	}
	return nil
}

var voice = regexp.MustCompile(`^(.+?) \((quoted in )?([a-z0-9-]+)(?:, (.+))?\)$`)

// parseVoice parses who makes a claim, and where.
func parseVoice(text string) (Voice, error) {
	m := voice.FindStringSubmatch(text)
	if m == nil {
		return Voice{}, fmt.Errorf("said must be WHO (KEY), WHO (KEY, PLACE) or WHO (quoted in KEY, PLACE), such as antirez (antirez2016, Fsync or not?); cannot read %.60q", text)
	}
	v := Voice{Who: m[1], Source: docs.Find(m[3]), Place: m[4], Quoted: m[2] != ""}
	if v.Source == nil {
		var keys []string
		for _, s := range docs.Sources() {
			keys = append(keys, s.Key)
		}
		return Voice{}, fmt.Errorf("a source must be a row of docs/sources.md: %w", history.Unknown("key", m[3], keys))
	}
	return v, nil
}

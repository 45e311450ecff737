package debate

import (
	"bytes"
	"cmp"
	"fmt"
	"html/template"
	"regexp"
	"slices"
	"strings"

	"lockstep/checker"
	"lockstep/checker/explain"
	"lockstep/reports"
	"lockstep/reports/explorer"
	"lockstep/reports/pictures"
	"lockstep/scenarios/claims"
)

// A chapterView is a chapter with its claims and its notes.
type chapterView struct {
	claims.Chapter
	File   string
	Claims []*claimView
	notes  []*note
}

// A claimView is a claim with its text and the results of its runs.
type claimView struct {
	claims.Claim
	Chapter  *chapterView
	Spoken   []spoken
	Answers  []answer
	Broken   []checker.Assumption // broken by the violations of the properties that the claim asks about
	Shown    *runView
	Explored []*runView
	Explorer string
	Live     bool // its runs can be changed and played again
}

// A spoken is a voice, with its note.
type spoken struct {
	Who  string
	Note *note
	Ref  string // the anchor that the note links back to
}

// A answer is the answer of a run to the question that a claim asks of it.
type answer struct {
	Run      *runView
	Asked    string
	Status   checker.Status // empty for a quantity
	Text     string
	Violated bool
}

// claim makes the view of a claim.
func (s *site) claim(chapter *chapterView, claim claims.Claim) (*claimView, error) {
	c := &claimView{Claim: claim, Chapter: chapter, Explorer: "explore/claim-" + claim.ID + ".html"}
	for _, v := range claim.Voices {
		chapter.cite(c, v)
	}
	broken := map[checker.Assumption]bool{}
	for _, e := range claim.Evidence {
		r := s.runs[e.Run]
		if r == nil {
			return nil, fmt.Errorf("there is no run %s", e.Run)
		}
		a, err := r.answer(e)
		if err != nil {
			return nil, err
		}
		c.Answers = append(c.Answers, a)
		for _, v := range r.Result.Violations {
			if v.Property == e.Property && e.Quantity == "" {
				broken[v.Assumption] = true
			}
		}
	}
	for _, a := range checker.Assumptions() {
		if broken[a] {
			c.Broken = append(c.Broken, a)
		}
	}
	for _, name := range claim.Draw {
		c.Explored = append(c.Explored, s.runs[name])
	}
	c.Live = s.Live != nil && len(c.Asks()) > 0
	c.Shown = c.Explored[0]
	c.Shown.drawn = true
	return c, nil
}

// cite adds a voice, and its note if the chapter does not have it yet.
func (v *chapterView) cite(c *claimView, voice claims.Voice) {
	i := slices.IndexFunc(v.notes, func(n *note) bool { return n.Voice == voice })
	if i < 0 {
		i = len(v.notes)
		v.notes = append(v.notes, &note{Number: i + 1, Voice: voice})
	}
	note := v.notes[i]
	ref := fmt.Sprintf("cite-%s-%d", c.ID, note.Number)
	note.Refs = append(note.Refs, ref)
	c.Spoken = append(c.Spoken, spoken{voice.Who, note, ref})
}

// KindText is the verdict on the claim, in words.
func (c *claimView) KindText() string { return kinds[c.Kind] }

var kinds = map[claims.Kind]string{
	claims.Shown: "Shown", claims.Refuted: "Refuted", claims.Depends: "Depends on the goal", claims.Agreed: "Agreed", claims.Judgement: "Judgement",
}

// Tally says how the runs of a claim came out.
func (c *claimView) Tally() string {
	var kept, violated, measured []NamedRun
	for _, a := range c.Answers {
		switch {
		case a.Violated:
			violated = append(violated, a.Run.NamedRun)
		case a.Status == "":
			measured = append(measured, a.Run.NamedRun)
		default:
			kept = append(kept, a.Run.NamedRun)
		}
	}
	var parts []string
	if len(violated) > 0 {
		parts = append(parts, "violated in "+inRuns(violated))
	}
	if len(kept) > 0 {
		parts = append(parts, "kept in "+inRuns(kept))
	}
	if len(measured) > 0 {
		parts = append(parts, inRuns(measured)+" measured")
	}
	return strings.Join(parts, ", ")
}

// inRuns counts runs. Those with identical events are counted once.
func inRuns(runs []NamedRun) string { return reports.Count(different(runs), "run") }

// Alike lists the runs of a claim that have the same trace as an earlier one.
func (c *claimView) Alike() []alike {
	var all []alike
	for i, a := range c.Answers {
		n := slices.IndexFunc(c.Answers[:i], func(o answer) bool { return o.Run.trace() == a.Run.trace() })
		if n >= 0 && c.Answers[n].Run != a.Run {
			all = append(all, alike{a.Run, c.Answers[n].Run})
		}
	}
	return all
}

// A alike is a pair of runs with the same trace.
type alike struct{ Run, As *runView }

// BrokenText names the assumptions that the violations broke.
func (c *claimView) BrokenText() string {
	var all []string
	for _, a := range c.Breaks() {
		all = append(all, a.Name())
	}
	return cmp.Or(strings.Join(all, ", "), "no promise was violated")
}

// Breaks are the assumptions that the violations broke.
func (c *claimView) Breaks() []deciding {
	var all []deciding
	for _, a := range c.Broken {
		all = append(all, deciding{Assumption: a, Meaning: assumptionMeaning[a]})
	}
	return all
}

// A speaker is somebody who makes a claim, in one source or in several.
type speaker struct {
	Before string // what stands before the name in a list
	Who    string
	Voices []spoken
}

// Speaking lists who makes the claim, each once.
func (c *claimView) Speaking() []speaker {
	var all []speaker
	for _, v := range c.Spoken {
		i := slices.IndexFunc(all, func(s speaker) bool { return s.Who == v.Who })
		if i < 0 {
			i = len(all)
			all = append(all, speaker{Before: ", ", Who: v.Who})
		}
		all[i].Voices = append(all[i].Voices, v)
	}
	for _, s := range all {
		slices.SortFunc(s.Voices, func(a, b spoken) int { return a.Note.Number - b.Note.Number })
	}
	if n := len(all); n > 0 {
		all[n-1].Before = " and "
		all[0].Before = ""
	}
	return all
}

// asked is the violation to explain: in the run that is drawn, the first violation of a property that the claim asks about. If the
// claim asks only for figures, it is the first violation of any property.
func (c *claimView) asked() *checker.Violation {
	ask, all := map[checker.Property]bool{}, true
	for _, e := range c.Evidence {
		if e.Run == c.Shown.Name && e.Quantity == "" {
			ask[e.Property], all = true, false
		}
	}
	for i, v := range c.Shown.Result.Violations {
		if all || ask[v.Property] {
			return &c.Shown.Result.Violations[i]
		}
	}
	return nil
}

// Told is the property that Why is about.
func (c *claimView) Told() checker.Property { return c.asked().Property }

// Why explains that violation in sentences, in causal order.
func (c *claimView) Why() []string {
	v := c.asked()
	if v == nil {
		return nil
	}
	var all []string
	for _, s := range explain.Story(c.Shown.Facts, *v) {
		all = append(all, explorer.Told(c.Shown.Facts.History, s))
	}
	return all
}

// A picture is a run that the article draws, and its caption.
type picture struct {
	*runView
	Found string
}

// Drawn is the picture of the claim. Its caption is about what the claim asks, even if other things went wrong as well.
func (c *claimView) Drawn() picture {
	if v := c.asked(); v != nil && v.Property != c.Shown.Result.Violations[0].Property {
		return picture{c.Shown, reports.Printable(v.What, textMost)}
	}
	return picture{c.Shown, c.Shown.head.Reason}
}

// Asks names the properties that the claim is about.
func (c *claimView) Asks() []promise {
	var all []promise
	for _, e := range c.Evidence {
		p := promise{e.Property, promiseMeaning[e.Property]}
		if e.Quantity == "" && !slices.Contains(all, p) {
			all = append(all, p)
		}
	}
	return all
}

// Speakers names who makes the claim, each once.
func (c *claimView) Speakers() string {
	var who []string
	for _, s := range c.Speaking() {
		who = append(who, s.Who)
	}
	return strings.Join(who, ", ")
}

// A runView is a run with what the site shows of it.
type runView struct {
	NamedRun
	File, Picture string
	drawn         bool
	timeline      *pictures.Timeline
	head          explorer.Heading
}

// How many characters of external text are shown.
const (
	nameMost = 120
	textMost = 1000
)

var notInFile = regexp.MustCompile(`[^a-z0-9-]+`)

func newRunView(r NamedRun) *runView {
	name := notInFile.ReplaceAllString(strings.ToLower(reports.Printable(r.Name, nameMost)), "-")
	r.Title, r.Name, r.Command = reports.Printable(r.Title, textMost), reports.Printable(r.Name, nameMost), reports.Printable(r.Command, textMost)
	return &runView{
		NamedRun: r, File: "runs/" + name + ".html", Picture: "runs/" + name + ".svg",
		timeline: pictures.NewTimeline(r.Facts, r.Result), head: explorer.NewHeading(r.Facts, r.Result),
	}
}

// answer reads the answer to the question that e asks from the result of the run.
func (r *runView) answer(e claims.Evidence) (answer, error) {
	if e.Quantity != "" {
		for _, m := range r.Measurements {
			if m.Quantity == e.Quantity {
				return answer{Run: r, Asked: string(e.Quantity), Text: reports.Printable(m.Text, textMost)}, nil
			}
		}
		return answer{}, fmt.Errorf("%s does not report %s", r.Name, e.Quantity)
	}
	a := answer{Run: r, Asked: string(e.Property), Status: r.Result.Status(e.Property)}
	a.Violated = a.Status == checker.Violated
	var why []string
	for _, v := range r.Result.Violations {
		if text := reports.Broken(v.Assumption); v.Property == e.Property && !slices.Contains(why, text) {
			why = append(why, text)
		}
	}
	a.Text = strings.Join(why, ", ")
	if a.Status == checker.OK && r.Result.Verdict == checker.Unsafe {
		a.Text = "the run breaks another promise" // otherwise its verdict would seem to contradict the status
	}
	return a, nil
}

// Verdict, Outcome and Reason are those of the picture.
func (r *runView) Verdict() checker.Verdict { return r.Result.Verdict }
func (r *runView) Outcome() string          { return r.head.Outcome }
func (r *runView) Reason() string           { return r.head.Reason }

// Class is the name of the verdict in the style sheet.
func (r *runView) Class() string { return strings.ToLower(string(r.Result.Verdict)) }

// Height is the height of the picture at a width of 1200.
func (r *runView) Height() int { return r.timeline.Height() }

// Alt says in words what the picture shows.
func (r *runView) Alt() string {
	return fmt.Sprintf("Timeline of the run %s. %s. %s.", reports.Printable(r.Name, 160), r.head.Outcome, strings.TrimRight(r.head.Reason, "."))
}

// Checksum is the checksum of the trace.
func (r *runView) Checksum() string {
	return reports.Printable(r.Facts.Meta.Checksum, nameMost)
}

// Seed is the seed from which all random draws of the run derive.
func (r *runView) Seed() uint64 { return r.Facts.Meta.Seed }

// Text is the timeline as text.
func (r *runView) Text() (string, error) {
	var b bytes.Buffer
	err := reports.Text(&b, r.Facts, r.Result, reports.TextOptions{Measurements: r.Measurements})
	return b.String(), err
}

var (
	proseClaim = regexp.MustCompile(`\{([0-9]+[ab]?)\}`)
	proseCode  = regexp.MustCompile("`([^`]+)`")
	proseEm    = regexp.MustCompile(`\*([^*]+)\*`)
)

// prose converts a sentence of the article to HTML: {10} becomes a link to claim 10, `SET` code, and *this* is stressed.
func (s *site) prose(text string) (template.HTML, error) {
	var err error
	text = template.HTMLEscapeString(text)
	text = proseClaim.ReplaceAllStringFunc(text, func(m string) string {
		id := strings.Trim(m, "{}")
		c := s.claims[id]
		if c == nil {
			err = fmt.Errorf("%q refers to claim %s, which does not exist", text, id)
			return m
		}
		return fmt.Sprintf(`<a href="%s#claim-%s">claim&nbsp;%s</a>`, c.Chapter.File, id, id)
	})
	text = proseCode.ReplaceAllString(text, "<code>$1</code>")
	text = proseEm.ReplaceAllString(text, "<em>$1</em>")
	return template.HTML(text), err
}

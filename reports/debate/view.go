package pictures

import (
	"bytes"
	"fmt"
	"html/template"
	"regexp"
	"slices"
	"strings"

	"lockstep/checker"
	"lockstep/checker/explain"
	"lockstep/reports"
	"lockstep/reports/explorer"
	"lockstep/scenarios/claims"
)

// A debateChapterView is a chapter with its claims and its notes.
type debateChapterView struct {
	claims.Chapter
	File   string
	Claims []*debateClaimView
	notes  []*debateNote
}

// A debateClaimView is a claim with its text and the results of its runs.
type debateClaimView struct {
	claims.Claim
	Chapter  *debateChapterView
	Spoken   []debateSpoken
	Answers  []debateAnswer
	Broken   []checker.Assumption // broken by the violations of the properties that the claim asks about
	Shown    *debateRunView
	Explored []*debateRunView
	Explorer string
}

// A debateSpoken is a voice, with its note.
type debateSpoken struct {
	Who  string
	Note *debateNote
	Ref  string // the anchor that the note links back to
}

// A debateAnswer is the answer of a run to the question that a claim asks of it.
type debateAnswer struct {
	Run      *debateRunView
	Asked    string
	Status   checker.Status // empty for a quantity
	Text     string
	Violated bool
}

// claim makes the view of a claim.
func (s *debateSite) claim(chapter *debateChapterView, claim claims.Claim) (*debateClaimView, error) {
	c := &debateClaimView{Claim: claim, Chapter: chapter, Explorer: "explore/claim-" + claim.ID + ".html"}
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
	c.Shown = c.Explored[0]
	c.Shown.drawn = true
	return c, nil
}

// cite adds a voice, and its note if the chapter does not have it yet.
func (v *debateChapterView) cite(c *debateClaimView, voice claims.Voice) {
	i := slices.IndexFunc(v.notes, func(n *debateNote) bool { return n.Voice == voice })
	if i < 0 {
		i = len(v.notes)
		v.notes = append(v.notes, &debateNote{Number: i + 1, Voice: voice})
	}
	note := v.notes[i]
	ref := fmt.Sprintf("cite-%s-%d", c.ID, note.Number)
	note.Refs = append(note.Refs, ref)
	c.Spoken = append(c.Spoken, debateSpoken{voice.Who, note, ref})
}

// KindText is the verdict on the claim, in words.
func (c *debateClaimView) KindText() string { return debateKinds[c.Kind] }

var debateKinds = map[claims.Kind]string{
	claims.Shown: "Shown", claims.Refuted: "Refuted", claims.Depends: "Depends on the goal", claims.Agreed: "Agreed", claims.Judgement: "Judgement",
}

// Tally says how the runs of a claim came out.
func (c *debateClaimView) Tally() string {
	var kept, violated []DebateRun
	figures := 0
	for _, a := range c.Answers {
		switch {
		case a.Violated:
			violated = append(violated, a.Run.DebateRun)
		case a.Status == "":
			figures++
		default:
			kept = append(kept, a.Run.DebateRun)
		}
	}
	var parts []string
	if len(violated) > 0 {
		parts = append(parts, "violated in "+inRuns(violated))
	}
	if len(kept) > 0 {
		parts = append(parts, "kept in "+inRuns(kept))
	}
	if figures > 0 {
		parts = append(parts, reports.Count(figures, "figure"))
	}
	return strings.Join(parts, ", ")
}

// inRuns counts runs. If some of them have the same events, it also counts the different ones.
func inRuns(runs []DebateRun) string {
	if d := different(runs); d < len(runs) {
		return fmt.Sprintf("%d (%d different)", len(runs), d)
	}
	return fmt.Sprint(len(runs))
}

// Alike lists the runs of a claim that have the same trace as an earlier one.
func (c *debateClaimView) Alike() []debateAlike {
	var all []debateAlike
	for i, a := range c.Answers {
		n := slices.IndexFunc(c.Answers[:i], func(o debateAnswer) bool { return o.Run.trace() == a.Run.trace() })
		if n >= 0 && c.Answers[n].Run != a.Run {
			all = append(all, debateAlike{a.Run, c.Answers[n].Run})
		}
	}
	return all
}

// A debateAlike is a pair of runs with the same trace.
type debateAlike struct{ Run, As *debateRunView }

// BrokenText names the assumptions that the violations broke.
func (c *debateClaimView) BrokenText() string {
	var all []string
	for _, a := range c.Broken {
		if a == checker.None {
			all = append(all, "none: the lock is at fault")
		} else {
			all = append(all, string(a))
		}
	}
	if len(all) == 0 {
		return "nothing was violated"
	}
	return strings.Join(all, ", ")
}

// A debateSpeaker is somebody who makes a claim, in one source or in several.
type debateSpeaker struct {
	Before string // what stands before the name in a list
	Who    string
	Voices []debateSpoken
}

// Speaking lists who makes the claim, each once.
func (c *debateClaimView) Speaking() []debateSpeaker {
	var all []debateSpeaker
	for _, v := range c.Spoken {
		i := slices.IndexFunc(all, func(s debateSpeaker) bool { return s.Who == v.Who })
		if i < 0 {
			i = len(all)
			all = append(all, debateSpeaker{Before: ", ", Who: v.Who})
		}
		all[i].Voices = append(all[i].Voices, v)
	}
	for _, s := range all {
		slices.SortFunc(s.Voices, func(a, b debateSpoken) int { return a.Note.Number - b.Note.Number })
	}
	if n := len(all); n > 0 {
		all[n-1].Before = " and "
		all[0].Before = ""
	}
	return all
}

// asked is the violation to explain: in the run that is drawn, the first violation of a property that the claim asks about. If the
// claim asks only for figures, it is the first violation of any property.
func (c *debateClaimView) asked() *checker.Violation {
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
func (c *debateClaimView) Told() checker.Property { return c.asked().Property }

// Why explains that violation in sentences, in causal order.
func (c *debateClaimView) Why() []string {
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

// A debatePicture is a run that the article draws, and its caption.
type debatePicture struct {
	*debateRunView
	Found string
}

// Drawn is the picture of the claim. Its caption is about what the claim asks, even if other things went wrong as well.
func (c *debateClaimView) Drawn() debatePicture {
	if v := c.asked(); v != nil && v.Property != c.Shown.Result.Violations[0].Property {
		return debatePicture{c.Shown, reports.Printable(v.What, debateTextMost)}
	}
	return debatePicture{c.Shown, c.Shown.head.Reason}
}

// Asks names the properties that the claim is about.
func (c *debateClaimView) Asks() []debatePromise {
	var all []debatePromise
	for _, e := range c.Evidence {
		p := debatePromise{e.Property, promiseMeaning[e.Property]}
		if e.Quantity == "" && !slices.Contains(all, p) {
			all = append(all, p)
		}
	}
	return all
}

// Speakers names who makes the claim, each once.
func (c *debateClaimView) Speakers() string {
	var who []string
	for _, s := range c.Speaking() {
		who = append(who, s.Who)
	}
	return strings.Join(who, ", ")
}

// A debateRunView is a run with what the site shows of it.
type debateRunView struct {
	DebateRun
	File, Picture string
	drawn         bool
	timeline      *Timeline
	head          explorer.Heading
}

// How many characters of external text are shown.
const (
	debateNameMost = 120
	debateTextMost = 1000
)

var notInFile = regexp.MustCompile(`[^a-z0-9-]+`)

func newDebateRunView(r DebateRun) *debateRunView {
	name := notInFile.ReplaceAllString(strings.ToLower(reports.Printable(r.Name, debateNameMost)), "-")
	r.Title, r.Name, r.Command = reports.Printable(r.Title, debateTextMost), reports.Printable(r.Name, debateNameMost), reports.Printable(r.Command, debateTextMost)
	return &debateRunView{
		DebateRun: r, File: "runs/" + name + ".html", Picture: "runs/" + name + ".svg",
		timeline: NewTimeline(r.Facts, r.Result), head: explorer.NewHeading(r.Facts, r.Result),
	}
}

// answer reads the answer to the question that e asks from the result of the run.
func (r *debateRunView) answer(e claims.Evidence) (debateAnswer, error) {
	if e.Quantity != "" {
		for _, m := range r.Measurements {
			if m.Quantity == e.Quantity {
				return debateAnswer{Run: r, Asked: string(e.Quantity), Text: reports.Printable(m.Text, debateTextMost)}, nil
			}
		}
		return debateAnswer{}, fmt.Errorf("%s does not report %s", r.Name, e.Quantity)
	}
	a := debateAnswer{Run: r, Asked: string(e.Property), Status: r.Result.Status(e.Property)}
	a.Violated = a.Status == checker.Violated
	var why []string
	for _, v := range r.Result.Violations {
		if text := reports.Broken(v.Assumption); v.Property == e.Property && !slices.Contains(why, text) {
			why = append(why, text)
		}
	}
	a.Text = strings.Join(why, ", ")
	return a, nil
}

// Verdict, Outcome and Reason are those of the picture.
func (r *debateRunView) Verdict() checker.Verdict { return r.Result.Verdict }
func (r *debateRunView) Outcome() string          { return r.head.Outcome }
func (r *debateRunView) Reason() string           { return r.head.Reason }

// Class is the name of the verdict in the style sheet.
func (r *debateRunView) Class() string { return strings.ToLower(string(r.Result.Verdict)) }

// Height is the height of the picture at a width of 1200.
func (r *debateRunView) Height() int { return int(r.timeline.figure.height.Points() + 0.5) }

// Alt says in words what the picture shows.
func (r *debateRunView) Alt() string {
	return fmt.Sprintf("Timeline of the run %s. %s. %s.", reports.Printable(r.Name, 160), r.head.Outcome, strings.TrimRight(r.head.Reason, "."))
}

// Checksum is the checksum of the trace.
func (r *debateRunView) Checksum() string {
	return reports.Printable(r.Facts.Meta.Checksum, debateNameMost)
}

// Seed is the seed from which all random draws of the run derive.
func (r *debateRunView) Seed() uint64 { return r.Facts.Meta.Seed }

// Text is the timeline as text.
func (r *debateRunView) Text() (string, error) {
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
func (s *debateSite) prose(text string) (template.HTML, error) {
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

// Package debate writes a site about an argument: its claims, what each says, and the runs that bear on it, with their pictures.
package debate

import (
	"bytes"
	"cmp"
	_ "embed"
	"fmt"
	"html/template"
	"slices"
	"strings"

	"lockstep/checker"
	"lockstep/reports"
	"lockstep/reports/explorer"
	"lockstep/reports/pictures"
	"lockstep/reports/playground"
	"lockstep/reports/sites"
	"lockstep/scenarios/claims"
)

const title = "Is Redlock safe? The argument as runs"

// A Debate is an argument about locks, claim by claim, with the runs that bear on it. [Debate.Files] turns it into a site. The verdicts are
// those of the runs and are written down nowhere else.
type Debate struct {
	Argument *claims.Argument
	Runs     []NamedRun // each once
	// Command is the command that made the site. Versions lists the versions of everything that its runs depend on.
	Command  string
	Versions []string
	// Live is what readers need to play runs themselves. Without it, the site has none of that.
	Live *playground.Program
}

// A NamedRun is one run of a debate.
type NamedRun struct {
	explorer.Run
	Name    string // SCENARIO/LOCK, and /LABEL if there is one
	Command string // repeats it
}

// trace identifies the events of a run: two runs with the same trace have the same events.
func (r NamedRun) trace() string { return cmp.Or(r.Facts.Meta.Checksum, r.Name) }

// Different counts the runs with different events. Runs of two scenarios may have the same events; together they are no more
// evidence than one of them.
func (d Debate) Different() int { return different(d.Runs) }

func different(runs []NamedRun) int {
	seen := map[string]bool{}
	for _, r := range runs {
		seen[r.trace()] = true
	}
	return len(seen)
}

// Mark is the first line of the list of files, see [sites.Sums].
const Mark = "# Written by lockstep debate, which replaces what is listed here, and nothing else.\n"

// Files returns the files of the site: the checksums first, then the others sorted by name. The same debate gives the same bytes.
// It is an error if a run that a claim needs is missing.
func (d Debate) Files() ([]sites.File, error) {
	s, err := newSite(d)
	if err != nil {
		return nil, err
	}
	var files []sites.File
	for _, write := range []func() ([]sites.File, error){s.pages, s.runPages, s.explorers, s.livePages, s.pictures} {
		more, err := write()
		if err != nil {
			return nil, err
		}
		files = append(files, more...)
	}
	return sites.Sealed(Mark, files), nil
}

// A site is a debate with its text and its links.
type site struct {
	Debate
	Chapters []*chapterView
	runs     map[string]*runView
	order    []*runView
	claims   map[string]*claimView
}

// newSite links the claims to their runs and their text.
func newSite(d Debate) (*site, error) {
	s := &site{Debate: d, runs: map[string]*runView{}, claims: map[string]*claimView{}}
	s.Command, s.Versions = reports.Printable(d.Command, textMost), nil
	for _, v := range d.Versions {
		s.Versions = append(s.Versions, reports.Printable(v, nameMost))
	}
	for _, r := range d.Runs {
		if s.runs[r.Name] != nil {
			return nil, fmt.Errorf("the run %s is listed twice", r.Name)
		}
		v := newRunView(r)
		s.runs[r.Name], s.order = v, append(s.order, v)
	}
	for _, chapter := range d.Argument.Chapters {
		v := &chapterView{Chapter: chapter, File: chapter.Name + ".html"}
		for _, claim := range d.Argument.Claims {
			if claim.Chapter != chapter.Name {
				continue
			}
			c, err := s.claim(v, claim)
			if err != nil {
				return nil, fmt.Errorf("claim %s: %w", claim.ID, err)
			}
			v.Claims = append(v.Claims, c)
			s.claims[claim.ID] = c
		}
		s.Chapters = append(s.Chapters, v)
	}
	for i, v := range s.order {
		if slices.ContainsFunc(s.order[:i], func(o *runView) bool { return o.File == v.File }) {
			return nil, fmt.Errorf("the run %s would be written to the file of another run, %s", v.Name, v.File)
		}
	}
	return s, nil
}

// A page has what every page of the site needs.
type page struct {
	Site   *site
	Title  string
	Here   string // the name of the file
	Root   string // the path to the top of the site: empty, or ../
	Policy string
	Style  template.CSS
}

// page starts a page. Pages of the article have no script, and may load only files of the site.
func (s *site) page(here, title string) page {
	p := page{Site: s, Title: title, Here: here, Style: style}
	p.Root = strings.Repeat("../", strings.Count(here, "/"))
	p.Policy = "default-src 'none'; style-src " + explorer.HashSource(string(style)) +
		"; img-src 'self'; frame-src 'self'; base-uri 'none'; form-action 'none'"
	return p
}

// pages writes the article.
func (s *site) pages() ([]sites.File, error) {
	var files []sites.File
	add := func(name, kind string, data any) error {
		var b bytes.Buffer
		if err := s.templates().ExecuteTemplate(&b, kind, data); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		files = append(files, sites.File{Name: name, Data: b.Bytes()})
		return nil
	}
	if err := add("index.html", "index", s.page("index.html", title)); err != nil {
		return nil, err
	}
	for i, c := range s.Chapters {
		err := add(c.File, "chapter", struct {
			page
			Chapter        *chapterView
			Number         int
			Notes          []*note
			Before, Beyond *link
		}{s.page(c.File, c.Title), c, i + 1, c.notes, s.neighbour(i - 1), s.neighbour(i + 1)})
		if err != nil {
			return nil, err
		}
	}
	if err := add("conclusion.html", "conclusion", s.page("conclusion.html", "What is left")); err != nil {
		return nil, err
	}
	return files, add("how.html", "how", s.page("how.html", "How this was computed"))
}

// A link leads to another page.
type link struct{ File, Title string }

func (s *site) neighbour(chapter int) *link {
	switch {
	case chapter < 0:
		return &link{"index.html", "Introduction"}
	case chapter < len(s.Chapters):
		return &link{s.Chapters[chapter].File, s.Chapters[chapter].Title}
	}
	return &link{"conclusion.html", "What is left"}
}

// Last is the last chapter.
func (s *site) Last() *chapterView { return s.Chapters[len(s.Chapters)-1] }

// runPages writes a page for each run. With the script it can be explored, and without it can be read.
func (s *site) runPages() ([]sites.File, error) {
	var files []sites.File
	for _, r := range s.order {
		figure, err := explorer.Figure(r.Run)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", r.Name, err)
		}
		p := s.page(r.File, r.Name)
		p.Policy = strings.Replace(explorer.Policy(), "style-src ", "style-src "+explorer.HashSource(string(style))+" ", 1)
		var b bytes.Buffer
		err = s.templates().ExecuteTemplate(&b, "run", struct {
			page
			Run        *runView
			Claims     []*claimView
			Figure     template.HTML
			PageStyle  template.CSS
			PageScript template.JS
		}{p, r, s.citing(r), figure, explorer.Style(), explorer.Script()})
		if err != nil {
			return nil, fmt.Errorf("%s: %w", r.Name, err)
		}
		files = append(files, sites.File{Name: r.File, Data: b.Bytes()})
	}
	return files, nil
}

// citing lists the claims that a run is evidence for.
func (s *site) citing(r *runView) []*claimView {
	var claims []*claimView
	for _, chapter := range s.Chapters {
		for _, c := range chapter.Claims {
			if slices.ContainsFunc(c.Answers, func(a answer) bool { return a.Run == r }) {
				claims = append(claims, c)
			}
		}
	}
	return claims
}

// explorers writes the pages that the article shows in frames: the run that it draws, beside the run to compare it with.
func (s *site) explorers() ([]sites.File, error) {
	var files []sites.File
	for _, chapter := range s.Chapters {
		for _, c := range chapter.Claims {
			var runs []explorer.Run
			for _, r := range c.Explored {
				runs = append(runs, r.Run)
			}
			var b bytes.Buffer
			if err := explorer.Page(&b, explorer.Link{Name: "Claim " + c.ID + ": " + c.Heading, Address: "../" + chapter.File + "#claim-" + c.ID}, runs...); err != nil {
				return nil, fmt.Errorf("claim %s: %w", c.ID, err)
			}
			files = append(files, sites.File{Name: c.Explorer, Data: b.Bytes()})
		}
	}
	return files, nil
}

// pictures draws the runs that the article shows.
func (s *site) pictures() ([]sites.File, error) {
	var files []sites.File
	for _, r := range s.order {
		if !r.drawn {
			continue
		}
		var b bytes.Buffer
		if err := r.timeline.WriteSVG(&b); err != nil {
			return nil, fmt.Errorf("%s: %w", r.Name, err)
		}
		files = append(files, sites.File{Name: r.Picture, Data: b.Bytes()})
	}
	return files, nil
}

// Safe counts the runs with the verdict SAFE.
func (s *site) Safe() int { return s.count(checker.Safe) }

// Unsafe counts the runs with the verdict UNSAFE.
func (s *site) Unsafe() int { return s.count(checker.Unsafe) }

func (s *site) count(v checker.Verdict) int {
	n := 0
	for _, r := range s.order {
		if r.Result.Verdict == v {
			n++
		}
	}
	return n
}

// Order lists the runs.
func (s *site) Order() []*runView { return s.order }

// As returns an earlier run with the same trace as r, or nil.
func (s *site) As(r *runView) *runView {
	for _, o := range s.order {
		if o == r {
			return nil
		}
		if o.trace() == r.trace() {
			return o
		}
	}
	return nil
}

// First returns the picture on the first page. It is that of a talk, which shows less and shows it larger.
func (s *site) First() (template.HTML, error) {
	const name = "pause-after-acquire/single"
	r := s.runs[name]
	if r == nil {
		return "", fmt.Errorf("there is no run %s", name)
	}
	return pictures.NewSlides(r.Facts, r.Result).Whole().Inline(), nil
}

// Drawn returns the picture of a run by its name.
func (s *site) Drawn(name string) (picture, error) {
	r := s.runs[name]
	if r == nil {
		return picture{}, fmt.Errorf("there is no run %s", name)
	}
	r.drawn = true
	return picture{r, r.head.Reason}, nil
}

// Deciding lists the assumptions that the runs broke, each with the claims that it decides.
func (s *site) Deciding() []deciding {
	var all []deciding
	for _, a := range checker.Assumptions() {
		d := deciding{Assumption: a, Meaning: assumptionMeaning[a]}
		for _, chapter := range s.Chapters {
			for _, c := range chapter.Claims {
				if slices.Contains(c.Broken, a) {
					d.Claims = append(d.Claims, c)
				}
			}
		}
		if len(d.Claims) > 0 {
			all = append(all, d)
		}
	}
	return all
}

// A deciding is an assumption, and the claims that it decides.
type deciding struct {
	Assumption checker.Assumption
	Meaning    string
	Claims     []*claimView
}

// ID is the anchor of the explanation of the assumption.
func (d deciding) ID() string {
	return "assumption-" + strings.ReplaceAll(string(d.Assumption), " ", "-")
}

// Name is the name of the assumption.
func (d deciding) Name() string {
	if d.Assumption == checker.None {
		return "none: nothing unusual had to happen"
	}
	return string(d.Assumption)
}

// A promise is a promise of a lock, with its meaning.
type promise struct {
	checker.Property
	Meaning string
}

// ID is the anchor of the explanation of the promise.
func (p promise) ID() string {
	return "promise-" + strings.ReplaceAll(string(p.Property), " ", "-")
}

// Promises lists the promises that the claims ask their runs about.
func (s *site) Promises() []promise {
	var all []promise
	for _, p := range checker.Properties() {
		if slices.ContainsFunc(s.Argument.Claims, func(c claims.Claim) bool {
			return slices.ContainsFunc(c.Evidence, func(e claims.Evidence) bool { return e.Property == p })
		}) {
			all = append(all, promise{p, promiseMeaning[p]})
		}
	}
	return all
}

// promiseMeaning says what each promise of a lock means.
var promiseMeaning = map[checker.Property]string{
	checker.LeaseExclusion:    "At no moment do two clients hold the lock.",
	checker.ResourceExclusion: "The resource accepts no write under a lease once a newer one has been granted, so it accepts no late write by a former holder.",
	checker.ExpiredOnReturn:   "No client is given a lease that has already ended.",
	checker.NoLostUpdate:      "If a client was told that its change succeeded, no client that has not seen the change overwrites it.",
	checker.OwnerOnly:         "No client touches a key that stands for another client's lease while that lease lasts.",
	checker.NoLostVote:        "No client deletes, overwrites or shortens the life of a key of its own lease while it relies on the lease.",
	checker.Tokens:            "Each lease has a token that is greater than all earlier ones.",
	checker.DeadlockFreedom:   "When all faults have healed and one TTL has passed, the lock can be acquired again.",
	checker.FaultTolerance:    "While enough servers are up, no client waits long for a lock that is free.",
}

// assumptionMeaning says what each assumption about the environment means.
var assumptionMeaning = map[checker.Assumption]string{
	checker.BoundedPause:      "No process is paused for longer than its lease allows for.",
	checker.BoundedClockError: "No clock jumps, and each runs at the right rate, up to the small allowance that the lock makes.",
	checker.BoundedDelay:      "A message arrives before the lease under which it was sent has ended and a newer one has been granted.",
	checker.DurableNodes:      "What a server has acknowledged survives a restart or a failover.",
	checker.None:              "No promise of the environment was broken. Either the lock is at fault, or its only server was down, or the work outlasted the lease.",
}

var (
	//go:embed site.html
	siteHTML string
	//go:embed site.css
	siteCSS string
	style   = template.CSS(siteCSS)
)

// templates parses the templates of the site; prose resolves links to claims.
func (s *site) templates() *template.Template {
	return template.Must(template.New("").Funcs(template.FuncMap{"prose": s.prose}).Parse(siteHTML))
}

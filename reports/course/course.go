// Package course writes the pages of a lesson about locks on Redis: slides, what is where, the lab in words, and the key.
package course

import (
	"bytes"
	"cmp"
	_ "embed"
	"fmt"
	"html/template"
	"strings"
	text "text/template"

	"lockstep/checker"
	"lockstep/reports"
	"lockstep/reports/debate"
	"lockstep/reports/explorer"
	"lockstep/reports/sites"
	"lockstep/scenarios/course"
	"lockstep/scenarios/course/pack"
	"lockstep/sim/history"
)

// A Course is what the pages need.
type Course struct {
	Runs    []debate.NamedRun // those that [Runs] names, with their pictures
	Command string            // the command that made the pages
	Go      string            // the version of Go that the lab needs
	Live    bool              // there is a lab for browsers
}

var (
	//go:embed slides.html
	slidesHTML string
	//go:embed slides.css
	slidesCSS string
	//go:embed slides.js
	slidesJS string
	//go:embed pages.html
	pagesHTML string
	//go:embed pages.css
	pagesCSS string
	//go:embed lab.md
	labText string
)

// Runs names the runs that the slides show, each once.
func Runs() ([]string, error) {
	var names []string
	seen := map[string]bool{}
	err := slides(func(name, _, _, _ string) (*shown, error) {
		if !seen[name] {
			seen[name] = true
			names = append(names, name)
		}
		return &shown{}, nil
	}, &bytes.Buffer{}, nil)
	return names, err
}

// A shown is a run on a slide.
type shown struct {
	debate.NamedRun
	Heading, Say string
	Reason       string
}

// Verdict and Class are those of the run, as a word and as a class of the style sheet.
func (s *shown) Verdict() checker.Verdict { return s.Result.Verdict }
func (s *shown) Class() string            { return strings.ToLower(string(s.Result.Verdict)) }

// slides writes the slides. The function shown returns a run by its name; the verdict is what the text of the slide says of it.
func slides(shown func(name, verdict, heading, say string) (*shown, error), to *bytes.Buffer, exercises []*course.Exercise) error {
	t := template.New("").Funcs(template.FuncMap{"drawn": shown, "ran": func(name, verdict string) (any, error) { return shown(name, verdict, "", "") }})
	t, err := t.Parse(slidesHTML)
	if err != nil {
		return err
	}
	return t.ExecuteTemplate(to, "slides.html", struct {
		Policy    string
		Style     template.CSS
		Script    template.JS
		Exercises []*course.Exercise
	}{policy(slidesCSS) + "; script-src " + explorer.HashSource(slidesJS) + "; require-trusted-types-for 'script'; trusted-types 'none'",
		template.CSS(slidesCSS), template.JS(slidesJS), exercises})
}

// policy is the Content-Security-Policy of a page with one style and no script: no network at all.
func policy(style string) string {
	return "default-src 'none'; style-src " + explorer.HashSource(style) + "; base-uri 'none'; form-action 'none'"
}

// find returns a run for a slide, unless it shows something else than the slide says.
func (c Course) find(name, verdict, heading, say string) (*shown, error) {
	for _, r := range c.Runs {
		if r.Name != name {
			continue
		}
		if string(r.Result.Verdict) != verdict {
			return nil, fmt.Errorf("the slides say that %s is %s, and it is %s", name, verdict, r.Result.Verdict)
		}
		return &shown{r, heading, say, reports.Printable(explorer.NewHeading(r.Facts, r.Result).Reason, 200)}, nil
	}
	return nil, fmt.Errorf("the slides need the run %s, which was not played", name)
}

// A key is an exercise with its solutions.
type key struct {
	*course.Exercise
	Solutions []pack.Solution
	Code      string // of the right one
}

// PerRun is [course.PerRun].
func (key) PerRun() int { return course.PerRun }

// Files returns the pages, and the Go files of the lab and of the key, by their names below the directory of the course. The same runs give
// the same bytes. The lab does not yet have its module; its directory is lab.
func (c Course) Files() ([]sites.File, error) {
	exercises, err := course.Exercises()
	if err != nil {
		return nil, err
	}
	var keys []key
	for _, e := range exercises {
		solutions, err := pack.Key(e)
		if err != nil {
			return nil, err
		}
		keys = append(keys, key{e, solutions, string(solutions[0].Code)})
	}
	var b bytes.Buffer
	if err := slides(c.find, &b, exercises); err != nil {
		return nil, fmt.Errorf("slides.html: %w", err)
	}
	files := []sites.File{{Name: "slides.html", Data: b.Bytes()}}
	pages, err := c.pages(keys)
	if err != nil {
		return nil, err
	}
	lab, err := c.lab(keys)
	if err != nil {
		return nil, err
	}
	return append(append(append(files, pages...), lab...), submissions(keys)...), nil
}

// pages writes the pages around the lab.
func (c Course) pages(keys []key) ([]sites.File, error) {
	t, err := template.New("").Parse(pagesHTML)
	if err != nil {
		return nil, err
	}
	questions, err := pack.Questions()
	if err != nil {
		return nil, err
	}
	var files []sites.File
	for _, p := range []struct{ name, title string }{
		{"index.html", "Locks on Redis: a lesson of two hours"},
		{"browser.html", "Locks on Redis: the lab in the browser"},
		{"instructor/index.html", "Locks on Redis: for the instructor"},
		{"instructor/answers.html", "Locks on Redis: answers"},
	} {
		if p.name == "browser.html" && !c.Live {
			continue
		}
		var b bytes.Buffer
		err := t.ExecuteTemplate(&b, p.name, struct {
			Course
			Title, Policy string
			Style         template.CSS
			Keys          []key
			Questions     []pack.Question
			PerRun        int
		}{c, p.title, policy(pagesCSS), template.CSS(pagesCSS), keys, questions, course.PerRun})
		if err != nil {
			return nil, fmt.Errorf("%s: %w", p.name, err)
		}
		files = append(files, sites.File{Name: p.name, Data: b.Bytes()})
	}
	return files, nil
}

// lab writes the lab, without the module.
func (c Course) lab(keys []key) ([]sites.File, error) {
	t, err := text.New("").Funcs(text.FuncMap{"list": given, "wrap": func(s string) string { return strings.Join(reports.Wrap(s, 100), "\n") }}).Parse(labText)
	if err != nil {
		return nil, err
	}
	var files []sites.File
	add := func(file, kind string, data any) error {
		var b bytes.Buffer
		if err := t.ExecuteTemplate(&b, kind, data); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		files = append(files, sites.File{Name: file, Data: b.Bytes()})
		return nil
	}
	err = add("lab/README.md", "README.md", struct {
		Course
		Exercises []key
	}{c, keys})
	for _, k := range keys {
		err = cmp.Or(err, add("lab/"+k.Folder+"/README.md", "exercise", k))
	}
	if err != nil {
		return nil, err
	}
	code, err := pack.Lab()
	if err != nil {
		return nil, err
	}
	for name, data := range code {
		files = append(files, sites.File{Name: "lab/" + name, Data: data})
	}
	return files, nil
}

// submissions lays the key out as submissions: one with all exercises, and one for each wrong solution.
func submissions(keys []key) []sites.File {
	var files []sites.File
	for _, k := range keys {
		for _, s := range k.Solutions {
			of := pack.Right
			if s.Name != pack.Right {
				of = fmt.Sprintf("%d-%s", k.Number, s.Name)
			}
			files = append(files, sites.File{Name: fmt.Sprintf("instructor/key/%s/%s/lock.go", of, k.Folder), Data: s.Code})
		}
	}
	return files
}

// given lists functions of package given, as code.
func given(names []string) string {
	var all []string
	for _, n := range names {
		all = append(all, "`given."+n+"`")
	}
	return history.List(all)
}

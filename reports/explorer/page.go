package explorer

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"errors"
	"html/template"
	"io"
	"strings"
	"sync"

	"lockstep/checker"
	"lockstep/checker/facts"
)

// A Run is a run to explore on a page, with what the page says about it. Only the facts and the result are required.
type Run struct {
	Facts  *facts.Facts // of its history
	Result checker.Result
	// Measurements are the quantities that the run should report.
	Measurements []checker.Measurement
	// Picture shows the run on paper, and if the script does not run. Without a picture, the timeline in words is shown there.
	Picture template.HTML
	// Title and Prose tell the story of the scenario. Script has its lanes, in the words of the scenario file.
	Title, Prose, Script string
}

// Page writes one HTML file in which runs can be explored. It has a diagram of space and time with a cursor that steps from event to
// event, the explanation beside it with each sentence linked to its events, and a list of the events. Several runs lie below each other
// on one time axis, and share one cursor. A picture of the run or its timeline, the verdict, the explanation and the story of the scenario are there
// without the script as well, and on paper. The file needs neither network nor server: a policy in its head makes the browser refuse
// everything except the style and the script in the file. The same runs give the same bytes. If back has a name, a link at the top leads
// to the page to which this one belongs.
func Page(w io.Writer, back Link, runs ...Run) error {
	figure, err := Figure(runs...)
	if err != nil {
		return err
	}
	title := ""
	for i, r := range runs {
		if i > 0 {
			title += " | "
		}
		title += Headline(r.Facts, r.Result)
	}
	var b bytes.Buffer
	err = pageTemplate().ExecuteTemplate(&b, "page", struct {
		Title, Policy string
		Figure        template.HTML
		Style         template.CSS
		Script        template.JS
		Back          Link
	}{title, Policy(), figure, Style(), Script(), back})
	if err != nil {
		return err
	}
	_, err = w.Write(b.Bytes())
	return err
}

// Figure is what [Page] shows, without the page around it: an element for another page, which may have any number of them. That
// page needs [Style] and, at its end, [Script], once each. It should be served or written with [Policy]. All text in the
// element is escaped.
func Figure(runs ...Run) (template.HTML, error) {
	if len(runs) == 0 {
		return "", errors.New("a page needs a run to show")
	}
	var data pageData
	for i, r := range runs {
		m := newPageModel(r)
		if len(runs) > 1 {
			m.Letter = string(rune('A' + i))
		}
		if i > 0 && r.Title == runs[i-1].Title && r.Prose == runs[i-1].Prose {
			m.Prose = pageProse{} // runs of one scenario share its story
		}
		data.Runs = append(data.Runs, m)
	}
	var b bytes.Buffer
	if err := pageTemplate().ExecuteTemplate(&b, "figure", data); err != nil {
		return "", err
	}
	return template.HTML(b.String()), nil
}

// Frame is a figure without a run, for a page whose script draws runs in it: the figure is in a template element, and the script, which is
// part of [ScriptWith], calls explore with a copy of it and the [Data] of the runs.
func Frame() (template.HTML, error) {
	var b bytes.Buffer
	err := pageTemplate().ExecuteTemplate(&b, "figure", pageData{Runs: []*pageModel{}})
	return template.HTML(b.String()), err
}

// Data is what a figure shows of a run, as JSON: what [Figure] has for its script, and the texts that it has as HTML.
func Data(r Run) ([]byte, error) {
	m := newPageModel(r)
	return json.Marshal(struct {
		*pageModel
		Outcome      string         `json:"outcome"`
		Facts        []string       `json:"facts"`
		Title        string         `json:"title"`
		Script       string         `json:"script"`
		Properties   []pageProperty `json:"properties"`
		Unmet        []string       `json:"unmet"`
		Measurements []string       `json:"measurements"`
	}{m, m.Outcome, m.Facts, m.Title, m.Script, m.Properties, m.Unmet, m.Measurements})
}

var (
	//go:embed page/page.html
	pageHTML string
	//go:embed page/page.css
	pageCSS string
	//go:embed page/axis.js
	axisJS string
	//go:embed page/run.js
	runJS string
	//go:embed page/pen.js
	penJS string
	//go:embed page/diagram.js
	diagramJS string
	//go:embed page/panels.js
	panelsJS string
	//go:embed page/player.js
	playerJS string
	//go:embed page/explorer.js
	explorerJS string
)

// What is made here is made when it is first used, and not when a program starts: each start of a guest would make it again.
// templates are parsed when they are first executed. A sync.OnceValue would link html/template into programs that write no page, too, such
// as the one for browsers.
var templates struct {
	page, list           *template.Template
	parsePage, parseList sync.Once
}

func pageTemplate() *template.Template {
	templates.parsePage.Do(func() { templates.page = template.Must(template.New("").Parse(pageHTML)) })
	return templates.page
}

// Style and Script are what the figures of a page need. Policy is the Content-Security-Policy that allows these two, by
// their hashes, and nothing else: no network at all.
var (
	Style  = sync.OnceValue(func() template.CSS { return template.CSS(pageCSS) })
	Script = sync.OnceValue(func() template.JS { return ScriptWith() })
	Policy = sync.OnceValue(func() string {
		return "default-src 'none'; style-src " + HashSource(string(Style())) + "; script-src " + HashSource(string(Script())) +
			"; base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
	})
)

// ScriptWith is [Script] with more scripts, which can use its functions and classes.
func ScriptWith(more ...string) template.JS {
	return template.JS("(() => {\n\"use strict\";\n" + axisJS + runJS + penJS + diagramJS + panelsJS + playerJS + explorerJS + strings.Join(more, "") + "})();\n")
}

// HashSource returns the source expression that allows a style or a script with this text in a Content-Security-Policy.
func HashSource(s string) string {
	sum := sha256.Sum256([]byte(s))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

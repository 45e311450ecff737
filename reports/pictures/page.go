package pictures

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"errors"
	"html/template"
	"io"

	"lockstep/checker"
	"lockstep/sim/history"
)

// A PageRun is a run to be explored on a page, with what the page says about it. Only the history and the result are needed.
type PageRun struct {
	History *history.History
	Result  checker.Result
	// Measurements are what the run was to report.
	Measurements []checker.Measurement
	// Title and Prose are what the scenario says of itself; Script is what everybody does in it, in its words.
	Title, Prose, Script string
}

// Page writes one HTML file in which runs can be explored: a diagram of space and time with a cursor that steps from event to
// event, the explanation beside it with each sentence linked to its events, and the events as a list. Several runs lie below
// each other on one time axis, and have one cursor. A picture of the run, the verdict, the explanation and what the
// scenario says of itself are there without the script as well, and on paper. The file needs nothing else, neither network nor server: a policy in
// its head has the browser refuse everything but the style and the script that are in it. The same runs give the same bytes.
func Page(w io.Writer, runs ...PageRun) error {
	figure, err := PageFigure(runs...)
	if err != nil {
		return err
	}
	title := ""
	for i, r := range runs {
		if i > 0 {
			title += " | "
		}
		title += Headline(r.History, r.Result)
	}
	var b bytes.Buffer
	err = pageTemplate.ExecuteTemplate(&b, "page", struct {
		Title, Policy string
		Figure        template.HTML
		Style         template.CSS
		Script        template.JS
	}{title, PagePolicy, figure, PageStyle, PageScript})
	if err != nil {
		return err
	}
	_, err = w.Write(b.Bytes())
	return err
}

// PageFigure is what [Page] shows, without the page around it: an element for a page of another kind, which may have any
// number of them. That page needs [PageStyle] and [PageScript], once, with the script at its end, and is best served or
// written with [PagePolicy]. All text in it is escaped.
func PageFigure(runs ...PageRun) (template.HTML, error) {
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
			m.Prose = pageProse{} // runs of one scenario share what it says of itself
		}
		data.Runs = append(data.Runs, m)
	}
	var b bytes.Buffer
	if err := pageTemplate.ExecuteTemplate(&b, "figure", data); err != nil {
		return "", err
	}
	return template.HTML(b.String()), nil
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

var pageTemplate = template.Must(template.New("").Parse(pageHTML))

// PageStyle and PageScript are what the figures of a page need, and PagePolicy is the Content-Security-Policy that allows
// them and nothing else: the style and the script by their hashes, and no network at all.
var (
	PageStyle  = template.CSS(pageCSS)
	PageScript = template.JS("(() => {\n\"use strict\";\n" + axisJS + runJS + penJS + diagramJS + panelsJS + playerJS + explorerJS + "})();\n")
	PagePolicy = "default-src 'none'; style-src " + hashSource(string(PageStyle)) + "; script-src " + hashSource(string(PageScript)) +
		"; base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
)

// hashSource names a text in a policy.
func hashSource(s string) string {
	sum := sha256.Sum256([]byte(s))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

package pack

import (
	"embed"
	"io/fs"
	"strings"

	"lockstep/scenarios/internal/fields"
)

//go:embed browser
var browser embed.FS

// A Question is a task of the lab that needs only a browser. Its file, in the directory browser, has these fields:
//
//	claim: ID                          the claim whose runs are played
//	heading: HEADING
//	before:                            what the reader must know
//	predict:                           what to predict
//	check:                             what to do on the page
//	shows: RUN QUANTITY VALUE STATUS   what the answer relies on; the quantities of a run are numbered from 1
//	answer:
type Question struct {
	Number                                         int
	Claim, Heading, Before, Predict, Check, Answer string
	Shows                                          []string
}

var questionRules = []fields.Rule{
	{Name: "claim", Shape: fields.Line, Least: 1, Most: 1},
	{Name: "heading", Shape: fields.Line, Least: 1, Most: 1},
	{Name: "before", Shape: fields.Paragraph, Least: 1, Most: 1},
	{Name: "predict", Shape: fields.Paragraph, Least: 1, Most: 1},
	{Name: "check", Shape: fields.Paragraph, Least: 1, Most: 1},
	{Name: "shows", Shape: fields.Line, Least: 1, Most: 10},
	{Name: "answer", Shape: fields.Paragraph, Least: 1, Most: 1},
}

// Questions returns the tasks of the browser lab, in their order.
func Questions() ([]Question, error) {
	names, err := fs.Glob(browser, "browser/*.txt")
	if err != nil {
		return nil, err
	}
	var all []Question
	for i, name := range names {
		data, err := browser.ReadFile(name)
		if err != nil {
			return nil, err
		}
		f, err := fields.Parse("scenarios/course/pack/"+name, data, questionRules)
		if err != nil {
			return nil, err
		}
		for n, s := range f.Values("shows") {
			if len(strings.Fields(s)) != 4 {
				return nil, f.Fail("shows", n, "it must be RUN QUANTITY VALUE STATUS, as in pause-fenced/fenced 1 25s ok; cannot read %q", s)
			}
		}
		all = append(all, Question{
			Number: i + 1, Claim: f.Value("claim"), Heading: f.Value("heading"), Before: f.Text("before"), Predict: f.Text("predict"),
			Check: f.Text("check"), Answer: f.Text("answer"), Shows: f.Values("shows"),
		})
	}
	return all, nil
}

package explorer

import (
	"bytes"
	_ "embed"
	"html/template"
	"io"
	"sync"

	"lockstep/reports"
)

// A List is a page with a table of runs, each with links to its files. Its texts need not be trusted: the page
// shows them as plain text.
type List struct {
	Title string
	Sum   string // the sentence below the title
	Notes []string
	As    string    // the heading of the column with standings
	Rows  []ListRow // in the order in which they are shown
	Empty string    // what is said if there are no rows
}

// A ListRow is a run in a list. Only its name is required.
type ListRow struct {
	Run, Page        string // the name, and the address of the page to explore the run
	Verdict          string
	Violated, Broken string
	Standing         string
	Look             string // the style of the standing: yes, NO, UNKNOWN or dim
	Facts            string
	Why              string // what is wrong with the run, or worth knowing
	Again            string // the command that shows it again
	Open             bool   // show Why and Again without a click
	Files            []Link
}

// A Link leads to a file of a run, or to another page.
type Link struct{ Name, Address string }

// largestWhy is how many characters of a reason are shown.
const largestWhy = 4000

var (
	//go:embed page/list.html
	listHTML string
	//go:embed page/list.css
	listCSS string
)

func listTemplate() *template.Template {
	templates.parseList.Do(func() { templates.list = template.Must(template.New("").Parse(listHTML)) })
	return templates.list
}

// ListPolicy is the Content-Security-Policy of a list. It allows the style of the list, an empty icon, and nothing else.
var ListPolicy = sync.OnceValue(func() string {
	return "default-src 'none'; style-src " + HashSource(listCSS) + "; img-src data:; base-uri 'none'; form-action 'none'"
})

// Write writes the page. The same list gives the same bytes.
func (l List) Write(w io.Writer) error {
	rows := make([]ListRow, len(l.Rows))
	facts := false
	for i, r := range l.Rows {
		for _, s := range []*string{&r.Run, &r.Verdict, &r.Violated, &r.Broken, &r.Standing, &r.Facts} {
			*s = reports.Printable(*s, lineMost)
		}
		r.Again, r.Why = reports.Visible(r.Again), reports.VisibleLines(r.Why)
		if runes := []rune(r.Why); len(runes) > largestWhy {
			r.Why = string(runes[:largestWhy]) + "…"
		}
		facts = facts || r.Facts != ""
		rows[i] = r
	}
	l.Rows, l.Title, l.Sum = rows, reports.Printable(l.Title, lineMost), reports.Printable(l.Sum, lineMost)
	var b bytes.Buffer
	if err := listTemplate().Execute(&b, struct {
		List
		Policy string
		Style  template.CSS
		Facts  bool
	}{l, ListPolicy(), template.CSS(listCSS), facts}); err != nil {
		return err
	}
	_, err := w.Write(b.Bytes())
	return err
}

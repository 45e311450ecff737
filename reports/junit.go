package reports

import (
	"encoding/xml"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jstemmer/go-junit-report/v2/junit"
)

// mostOutput is how many bytes of a timeline a report holds. GitLab takes files of up to 30 MB.
const mostOutput = 128 << 10

// A Case is a run in a report for CI servers.
type Case struct {
	Suite, Name string // its scenario, and the run in it
	File        string // the scenario file, with slashes; may be empty
	Line        int    // of the run in that file; 0 if unknown
	Seed        string
	Took        time.Duration
	Status      CaseStatus
	Kind        string // of what is wrong, in a word or two
	Message     string // what is wrong, in a line
	Why         string // all about it
	Output      string // the timeline
	Again       string // the command that repeats the run
}

// CaseStatus is what a case means to a CI server.
type CaseStatus int

const (
	Passed CaseStatus = iota
	Skipped
	Failed
	Errored // it proves nothing, or did not end
)

// WriteJUnit writes a report for CI servers, with a suite for each scenario and a case for each run. The class of each case begins
// with name. If start is zero, the report does not say when the runs took place.
//
// The format has no specification. The report conforms to both schemas of Jenkins: that of its own reader (junit-4), and the stricter
// one of its xUnit plugin (junit-10). The latter does not allow the file and the line of a case, so these are properties of the suite.
func WriteJUnit(w io.Writer, name string, cases []Case, start time.Time, took time.Duration) error {
	all := junit.Testsuites{Name: xmlText(name), Time: inSeconds(took)}
	var suites []*junit.Testsuite
	var times []time.Duration
	names := map[[2]string]int{}
	for _, c := range cases {
		i := slices.IndexFunc(suites, func(s *junit.Testsuite) bool { return s.Name == xmlText(c.Suite) && s.Package == xmlText(c.File) })
		if i < 0 {
			i = len(suites)
			s := &junit.Testsuite{Name: xmlText(c.Suite), Package: xmlText(c.File), ID: i}
			if !start.IsZero() {
				s.Timestamp = start.UTC().Format("2006-01-02T15:04:05")
			}
			if c.File != "" {
				s.AddProperty("file", xmlText(c.File))
			}
			suites, times = append(suites, s), append(times, 0)
		}
		times[i] += c.Took
		// Servers show only one of two cases with the same name.
		id := [2]string{c.Suite, c.Name}
		if names[id]++; names[id] > 1 {
			c.Name += fmt.Sprintf(" (%d)", names[id])
		}
		suites[i].AddTestcase(c.testcase(name))
		if c.Line > 0 {
			suites[i].AddProperty(xmlText("line of "+c.Name), strconv.Itoa(c.Line))
		}
		if c.Seed != "" {
			suites[i].AddProperty(xmlText("seed of "+c.Name), c.Seed)
		}
	}
	for i, s := range suites {
		s.Time = inSeconds(times[i])
		all.AddSuite(*s)
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	return all.WriteXML(w)
}

// testcase converts a run to a case of a suite.
func (c Case) testcase(of string) junit.Testcase {
	tc := junit.Testcase{Name: xmlText(c.Name), Classname: xmlText(of + "." + c.Suite)}
	if c.Took > 0 {
		tc.Time = inSeconds(c.Took)
	}
	if c.Status == Passed {
		return tc
	}
	if c.Status == Skipped {
		tc.Skipped = &junit.Result{Message: xmlText(c.Message)}
		return tc
	}
	place := ""
	if c.Line > 0 {
		place = fmt.Sprintf("%s:%d\n", c.File, c.Line)
	}
	why := &junit.Result{Message: xmlText(c.Message), Type: c.Kind, Data: xmlText(place + c.Why)}
	if text := c.Output; text != "" {
		if len(text) > mostOutput {
			text = text[:mostOutput] + "\n... and more: " + c.Again + "\n"
		}
		tc.SystemOut = &junit.Output{Data: xmlText(text)}
	}
	if c.Status == Errored {
		tc.Error = why
	} else {
		tc.Failure = why
	}
	return tc
}

func inSeconds(d time.Duration) string { return strconv.FormatFloat(d.Seconds(), 'f', 3, 64) }

// xmlText replaces what XML 1.0 cannot represent even escaped: most control characters, and invalid UTF-8. The CDATA sections of the
// report would contain them as they are. Marks that change the direction of a line are replaced, too.
func xmlText(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\t' || r == '\n':
		case r < ' ', r >= 0x7f && r < 0xa0, r == 0xfffe, r == 0xffff, r >= 0xd800 && r < 0xe000:
			return '\ufffd'
		case r == 0x200e || r == 0x200f || r >= 0x2028 && r <= 0x202e || r >= 0x2066 && r <= 0x2069 || r == 0x061c:
			return '\ufffd'
		}
		return r
	}, s)
}

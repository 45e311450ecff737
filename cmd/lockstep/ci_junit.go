package main

import (
	"context"
	"encoding/xml"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jstemmer/go-junit-report/v2/junit"

	"lockstep/scenarios/play"
)

// mostOutput is how many bytes of a timeline a report holds. GitLab takes files of up to 30 MB.
const mostOutput = 128 << 10

// writeJUnit writes a report for CI servers, with a suite for each scenario and a case for each run. A run that is not as expected is a
// failure, one that proves nothing an error.
//
// The format has no specification. The report conforms to both schemas of Jenkins: that of its own reader (junit-4), and the stricter
// one of its xUnit plugin (junit-10). The latter does not allow the file and the line of a case, so these are properties of the suite.
func writeJUnit(ctx context.Context, file string, findings []finding, start time.Time, took time.Duration) error {
	all := junit.Testsuites{Name: "lockstep", Time: inSeconds(took)}
	var suites []*junit.Testsuite
	var times []time.Duration
	names := map[[2]string]int{}
	for _, g := range findings {
		i := slices.IndexFunc(suites, func(s *junit.Testsuite) bool { return s.Name == xmlText(g.suite) && s.Package == xmlText(g.file) })
		if i < 0 {
			i = len(suites)
			s := &junit.Testsuite{
				Name: xmlText(g.suite), Package: xmlText(g.file), ID: i, Timestamp: start.UTC().Format("2006-01-02T15:04:05"),
			}
			s.AddProperty("file", xmlText(g.file))
			suites, times = append(suites, s), append(times, 0)
		}
		times[i] += g.took()
		// Servers show only one of two cases with the same name.
		name := strings.TrimPrefix(g.run, g.suite+"/")
		id := [2]string{g.suite, name}
		if names[id]++; names[id] > 1 {
			name += fmt.Sprintf(" (%d)", names[id])
		}
		suites[i].AddTestcase(g.testcase(name))
		if g.line > 0 {
			suites[i].AddProperty(xmlText("line of "+name), strconv.Itoa(g.line))
		}
		if g.o != nil {
			suites[i].AddProperty(xmlText("seed of "+name), strconv.FormatUint(g.o.History.Meta.Seed, 10))
		}
	}
	for i, s := range suites {
		s.Time = inSeconds(times[i])
		all.AddSuite(*s)
	}
	return writeFile(ctx, file, func(w io.Writer) error {
		if _, err := io.WriteString(w, xml.Header); err != nil {
			return err
		}
		return all.WriteXML(w)
	})
}

// testcase converts a finding to a case of a suite.
func (g finding) testcase(name string) junit.Testcase {
	tc := junit.Testcase{Name: xmlText(name), Classname: xmlText("lockstep." + g.suite)}
	if took := g.took(); took > 0 {
		tc.Time = inSeconds(took)
	}
	if g.status == exitExpected {
		return tc
	}
	why := &junit.Result{Message: xmlText(g.head()), Type: g.verdict()}
	if len(g.reasons) > 0 {
		why.Message += ": " + xmlText(oneLine(g.reasons[0]))
	}
	place := ""
	if g.line > 0 {
		place = fmt.Sprintf("%s:%d\n", g.file, g.line)
	}
	why.Data = xmlText(place + g.explanation())
	if g.o != nil {
		timeline := g.o.Timeline()
		if g.o.Report != nil {
			timeline = g.o.Report.String()
		}
		if len(timeline) > mostOutput {
			timeline = timeline[:mostOutput] + "\n... and more: " + g.again + "\n"
		}
		tc.SystemOut = &junit.Output{Data: xmlText(timeline)}
	}
	if g.status >= exitUnknown {
		tc.Error = why
	} else {
		tc.Failure = why
	}
	return tc
}

// took is how long a run took on real servers, and 0 in simulation, where time is virtual.
func (g finding) took() time.Duration {
	if g.o == nil || g.o.History.Meta.On == play.OnSim || len(g.o.History.Events) == 0 {
		return 0
	}
	return g.o.History.Events[len(g.o.History.Events)-1].At
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

package script

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"lockstep/checker"
	"lockstep/sim/history"
)

// parseLane parses a lane; others are the lanes before it in the same place.
func parseLane(in *lines, others []Lane) (Lane, error) {
	lane := Lane{line: in.number()}
	words := strings.Fields(in.peek())
	switch {
	case words[0] == Nemesis && len(words) == 1:
		lane.Process = Nemesis
	case words[0] == Nemesis:
		return lane, fail(lane.line, "cannot read %q; write nemesis, and each fault on an indented line below", strings.Join(words, " "))
	case len(words) != 2:
		return lane, fail(lane.line, "cannot read %q; write client NAME", strings.Join(words, " "))
	default:
		if err := checkClient(words[1]); err != nil {
			return lane, fail(lane.line, "%w", err)
		}
		lane.Process = words[1]
	}
	for _, other := range others {
		if other.Process == lane.Process {
			return lane, fail(lane.line, "duplicate %s; the first is at line %d", strings.Join(words, " "), other.line)
		}
	}
	var all mistakes
	misplaced := false // one such line per lane is reported
	for in.next++; in.more() && isStep(in.peek()); in.next++ {
		line, at := in.peek(), in.number()
		text := strings.TrimSpace(line)
		err := checkTab(line, at)
		switch {
		case err != nil:
		case line[:2] != "  " || line[2] == ' ':
			err = fail(at, "%q is not indented by two spaces", text)
		case text[0] == '#':
			err = fail(at, "no comment may stand in a lane; prose belongs at the top of the file, without a gap")
		default:
			step, err := ParseStep(lane.Process, text)
			if err != nil {
				all.add(fail(at, "%w", err))
			}
			lane.Steps = append(lane.Steps, step)
		}
		if err != nil && !misplaced {
			misplaced = true
			all.add(err)
		}
	}
	if len(all) > 0 {
		return lane, all.err()
	}
	return lane, lane.check()
}

// checkClient rejects names that a client cannot have, because other processes have them.
func checkClient(name string) error {
	if err := history.CheckName(name); err != nil {
		return err
	}
	if name == Nemesis || name == "network" || name == ResourceName || name == ProbeName || nodeName.MatchString(name) {
		return fmt.Errorf("no client can be named %s; that is another process; write client c1", name)
	}
	return nil
}

func parseMust(in *lines) (checker.Must, error) {
	line, at := in.peek(), in.number()
	in.next++
	text := strings.Join(strings.Fields(line)[1:], " ")
	must, err := checker.ParseMust(text)
	if err == nil {
		return must, nil
	}
	if wrong := wrongValue(text); wrong != nil {
		err = wrong
	}
	return must, fail(at, "must: %w", err)
}

// mustValue returns, for a word of [checker.MustForms] that stands for a value which can be wrong, a form with no other such word, and what the
// value must be.
func mustValue(place string) (form, is string) {
	switch place {
	case "CLIENT":
		return "CLIENT acquires", "a client, such as c1"
	case "RIVAL":
		return "RIVAL acquires", "a client, such as c2"
	case "NODE":
		return "c1 acquires on NODE", "a server, such as n1"
	case "NODES":
		return "c1 acquires with NODES down", "servers with spaces between them, such as n1 n2"
	case "SERVER":
		return "a request from c1 to SERVER is lost", "a server, such as n1"
	case "PROCESS":
		return "the wall clock of PROCESS is off by over 1s", "a process, such as n1 or c1"
	case "COUNT":
		return "COUNT clients wait at once", "a number from 2 on"
	case "LIMIT":
		return "c1 acquires with under LIMIT left", "a duration above 0s, such as 1500ms"
	}
	return "", ""
}

// wrongValue returns the error for a must that has one of the forms but a wrong value in it; nil if it has none of the forms.
func wrongValue(text string) error {
	places := regexp.MustCompile(`\b(CLIENT|RIVAL|NODES?|SERVER|PROCESS|COUNT|WRITE|NEXT|LIMIT)\b`)
	for _, m := range checker.MustForms() {
		pattern := places.ReplaceAllStringFunc(m.Words, func(place string) string {
			if place == "NODES" {
				return `(\S+(?: \S+)*)`
			}
			return `(\S+)`
		})
		values := regexp.MustCompile("^" + pattern + "$").FindStringSubmatch(text)
		if values == nil {
			continue
		}
		for i, place := range places.FindAllString(m.Words, -1) {
			form, is := mustValue(place)
			if _, err := checker.ParseMust(places.ReplaceAllLiteralString(form, values[i+1])); form != "" && err != nil {
				return fmt.Errorf("%q must be %s", values[i+1], is)
			}
		}
	}
	return nil
}

// parseReport parses a report line, and returns the quantity after those before it.
func parseReport(in *lines, reports []checker.Quantity) ([]checker.Quantity, error) {
	line, at := in.peek(), in.number()
	in.next++
	q := checker.Quantity(strings.Join(strings.Fields(line)[1:], " "))
	if q == "" {
		return nil, fail(at, "cannot read %q; write report QUANTITY, one of %s", "report", strings.Join(WordsOf(checker.Quantities()), ", "))
	}
	if all := checker.Quantities(); !slices.Contains(all, q) {
		return nil, fail(at, "%w", history.Unknown("quantity", string(q), WordsOf(all)))
	}
	if slices.Contains(reports, q) {
		return nil, fail(at, "duplicate report of %s", q)
	}
	return append(reports, q), nil
}

func parseExpectation(in *lines) (Expectation, error) {
	line, at := in.peek(), in.number()
	in.next++
	e := Expectation{line: at}
	text, assumption, named := strings.Cut(line, ":")
	words := strings.Fields(text)[1:]
	if len(words) < 2 {
		return e, fail(at, "cannot read %q; write expect PROPERTY violated, ok or unknown", strings.TrimSpace(line))
	}
	if i := slices.Index(words, "for"); i >= 2 {
		var err error
		if e.Share, err = parseShare(words[i:]); err != nil {
			return e, fail(at, "%w", err)
		}
		words = words[:i]
	}
	if p := checker.Property(strings.Join(words, " ")); slices.Contains(checker.Properties(), p) {
		return e, fail(at, "the outcome is missing in %q; write expect %s violated, ok or unknown", strings.TrimSpace(line), p)
	}
	last := len(words) - 1
	e.Property, e.Status = checker.Property(strings.Join(words[:last], " ")), checker.Status(words[last])
	if !slices.Contains(checker.Properties(), e.Property) {
		return e, fail(at, "%w", history.Unknown("property", string(e.Property), WordsOf(checker.Properties())))
	}
	statuses := []checker.Status{checker.OK, checker.Violated, checker.Unknown}
	if !slices.Contains(statuses, e.Status) {
		return e, fail(at, "%w", history.Unknown("outcome", words[last], WordsOf(statuses)))
	}
	if e.Share > 0 && e.Status != checker.Violated {
		return e, fail(at, "only a violation can have a share of the seeds; write expect %s violated for %d of %d seeds", e.Property, e.Share, ShareSeeds)
	}
	if !named {
		return e, nil
	}
	if e.Status != checker.Violated {
		return e, fail(at, "only a violation has a broken assumption; write expect %s %s", e.Property, e.Status)
	}
	e.Assumption = checker.Assumption(strings.Join(strings.Fields(assumption), " "))
	if e.Assumption == "" {
		return e, fail(at, "cannot read %q; write expect %s violated: ASSUMPTION", strings.TrimSpace(line), e.Property)
	}
	if all := checker.Assumptions(); !slices.Contains(all, e.Assumption) {
		return e, fail(at, "%w", history.Unknown("assumption", string(e.Assumption), WordsOf(all)))
	}
	return e, nil
}

// parseShare parses for how many of the first seeds a property is violated: at least one, but not all.
func parseShare(words []string) (int, error) {
	text := strings.Join(words, " ")
	var n int
	if _, err := fmt.Sscanf(text, "for %d of ", &n); err != nil || n < 1 || n >= ShareSeeds || text != fmt.Sprintf("for %d of %d seeds", n, ShareSeeds) {
		return 0, fmt.Errorf("cannot read %q; write for N of %d seeds, with N from 1 to %d", text, ShareSeeds, ShareSeeds-1)
	}
	return n, nil
}

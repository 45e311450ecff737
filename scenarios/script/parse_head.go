package script

import (
	"slices"
	"strings"

	"lockstep/sim/history"
)

func (s *Scenario) parseHead(in *lines) error {
	var all mistakes
	for in.skipBlank() {
		begun := in.next
		if err := s.parseHeadPart(in); err != nil {
			all.add(err)
			in.leave(begun)
		}
	}
	return all.err()
}

// headParts are the parts of the head of a file, by their first word.
var headParts = []struct {
	word, name string // the name is what an error lists
	parse      func(*Scenario, *lines) error
}{
	{"client", "client", (*Scenario).parseHeadLane},
	{"must", "must", (*Scenario).parseHeadMust},
	{Nemesis, Nemesis, (*Scenario).parseHeadLane},
	{"report", "report", func(s *Scenario, in *lines) (err error) { s.Reports, err = parseReport(in, s.Reports); return err }},
	{"sim", "sim only:", func(s *Scenario, in *lines) (err error) { s.SimOnly, err = parseSimOnly(in, s.SimOnly); return err }},
	{"speed", "speed", (*Scenario).parseHeadSpeed},
	{"sweep", "sweep", (*Scenario).parseSweep},
	{"ttl", "ttl", (*Scenario).parseTTL},
}

// parseHeadPart parses a setting, a lane, a must or a report.
func (s *Scenario) parseHeadPart(in *lines) error {
	line, at := in.peek(), in.number()
	if err := checkTab(line, at); err != nil {
		return err
	}
	word := strings.Fields(line)[0]
	if line[0] == ' ' && !isStep(line) {
		return fail(at, "%q must begin with a word; write \"at\" before the time of a fault: at 500ms crash n1", strings.TrimSpace(line))
	}
	if line[0] == ' ' {
		return fail(at, "%q belongs to no lane; a blank line ends a lane, and only steps are indented", strings.TrimSpace(line))
	}
	var names []string
	for _, p := range headParts {
		if p.word == word {
			return p.parse(s, in)
		}
		names = append(names, p.name)
	}
	switch {
	case word == "expect":
		return fail(at, "expect belongs to a run; put it below a section line such as -- single nodes=1 --")
	case line[0] == '#':
		return fail(at, "prose belongs at the top of the file, without a gap")
	case stepForms[word] != "":
		return failUnindented(at, line)
	}
	return fail(at, "%w", history.Unknown("setting", word, names))
}

func failUnindented(at int, step string) error {
	return fail(at, "%q is a step of a client; it must be indented by two spaces", step)
}

func (s *Scenario) parseTTL(in *lines) error {
	words, at := strings.Fields(in.peek()), in.number()
	if s.TTL != 0 {
		return fail(at, "duplicate ttl; it is %s already", history.FormatDuration(s.TTL))
	}
	if len(words) != 2 {
		return fail(at, "cannot read %q; write ttl DURATION", strings.Join(words, " "))
	}
	ttl, err := history.ParsePositive(words[1])
	if err != nil {
		return fail(at, "ttl: %w", err)
	}
	s.TTL = ttl
	in.next++
	return nil
}

func (s *Scenario) parseHeadSpeed(in *lines) error {
	words, at := strings.Fields(in.peek()), in.number()
	if s.Speed != 0 {
		return fail(at, "duplicate speed; it is %d already", s.Speed)
	}
	if len(words) != 2 {
		return fail(at, "cannot read %q; write speed NUMBER", strings.Join(words, " "))
	}
	speed, err := parseSpeed(words[1])
	if err != nil {
		return fail(at, "speed %w", err)
	}
	s.Speed = speed
	in.next++
	return nil
}

func (s *Scenario) parseSweep(in *lines) error {
	words, at := strings.Fields(in.peek()), in.number()
	if s.Sweep != nil {
		return fail(at, "duplicate sweep; it is %s already", strings.Join(WordsOf(s.Sweep), " "))
	}
	if len(words) == 1 {
		return fail(at, "a sweep must name kinds of perturbations: %s", strings.Join(WordsOf(Kinds()), ", "))
	}
	for _, word := range words[1:] {
		switch k := Kind(word); {
		case !slices.Contains(Kinds(), k):
			return fail(at, "%w", history.Unknown("kind", word, WordsOf(Kinds())))
		case slices.Contains(s.Sweep, k):
			return fail(at, "%s is named twice", word)
		default:
			s.Sweep = append(s.Sweep, k)
		}
	}
	in.next++
	return nil
}

func (s *Scenario) parseHeadLane(in *lines) error {
	at := in.number()
	lane, err := parseLane(in, s.Lanes)
	if err != nil {
		return err
	}
	if len(lane.Steps) == 0 && !(in.more() && strings.HasPrefix(in.peek(), " ")) { // an indented line that is not a step gets an error of its own
		return fail(at, "the lane of %s has no steps; each stands on a line of its own, indented by two spaces", lane.Process)
	}
	s.Lanes = append(s.Lanes, lane)
	return nil
}

func (s *Scenario) parseHeadMust(in *lines) error {
	at := in.number()
	must, err := parseMust(in)
	if err != nil {
		return err
	}
	s.Musts, s.mustLines = append(s.Musts, must), append(s.mustLines, at)
	return nil
}

func (s *Scenario) parseProse(in *lines) error {
	var prose []string
	for in.more() && strings.HasPrefix(in.peek(), "#") {
		line := strings.TrimPrefix(strings.TrimPrefix(in.peek(), "#"), " ")
		prose = append(prose, strings.TrimRight(line, " \t"))
		in.next++
	}
	if len(prose) == 0 || strings.TrimSpace(prose[0]) == "" {
		return fail(1, "the file must begin with its title, such as # A pause outlives the lease.")
	}
	s.Title = strings.TrimSpace(prose[0])
	if !strings.HasSuffix(s.Title, ".") {
		return fail(1, "the title %q must end with a full stop", s.Title)
	}
	s.Prose = strings.Trim(strings.Join(prose[1:], "\n"), "\n")
	return nil
}

package script

import (
	"bytes"
	"context"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/tools/txtar"

	"lockstep/scenarios/files"
	"lockstep/sim/history"
)

// largestFile limits the size of a scenario file in bytes. The largest of the catalogue has 40 kB.
const largestFile = 1 << 20

// Load parses the named scenario file. It gives up when ctx ends. If the file can be read but not parsed, the error has
// an [*Error] for each mistake.
func Load(ctx context.Context, file string) (*Scenario, error) {
	data, err := files.Read(ctx, file, largestFile)
	if err != nil {
		return nil, err
	}
	return Parse(file, data)
}

// Parse parses a scenario file; name is the name of the file. The error has an [*Error] for the first mistake and, if lines
// cannot be read, for each of those. Parse does not check whether the locks exist.
func Parse(name string, data []byte) (*Scenario, error) {
	s, err := parse(name, bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n")))
	if err != nil {
		var at mistakes
		at.add(err)
		for _, e := range at {
			e.File = name
		}
		return nil, err
	}
	return s, nil
}

func parse(name string, data []byte) (*Scenario, error) {
	if err := checkText(string(data)); err != nil {
		return nil, err
	}
	s := &Scenario{
		Name: strings.TrimSuffix(path.Base(filepath.ToSlash(name)), ".txtar"),
		File: name,
	}
	if s.Name == "" || s.Name[0] == '.' { // artifacts of its runs have this name
		return nil, fmt.Errorf("%s: the name of a scenario, its file name without .txtar, must not be empty or begin with a dot", name)
	}
	if !utf8.ValidString(name) { // a history, and run --json, could not contain the name
		return nil, fmt.Errorf("%q: the name of a scenario file must be valid UTF-8", name)
	}
	archive := txtar.Parse(data)
	head := newLines(archive.Comment, 1)
	if err := s.parseProse(head); err != nil {
		return nil, err
	}
	var all mistakes
	all.add(s.parseHead(head))
	if len(archive.Files) == 0 && len(all) == 0 {
		return nil, fail(head.number()-1, "the file ends without a run; add a section such as -- single nodes=1 --")
	}
	marker := head.number()
	runs := map[string]Section{} // by the names of their artifacts, which have no slashes
	for _, file := range archive.Files {
		section := newLines(file.Data, marker+1)
		r, err := parseRun(file.Name, marker, section)
		at := marker
		marker += 1 + bytes.Count(file.Data, []byte("\n"))
		if err != nil {
			all.add(err)
			continue
		}
		key := strings.ReplaceAll(r.ID(), "/", "-")
		switch q, there := runs[key]; {
		case there && q.ID() == r.ID():
			all.add(fail(at, "duplicate run %s; the first is at line %d; give one of them a label=NAME", r.ID(), q.line))
		case there:
			all.add(fail(at, "run %s would overwrite the files of run %s at line %d; choose another label", r.ID(), q.ID(), q.line))
		}
		runs[key] = r
		s.Runs = append(s.Runs, r)
	}
	if err := all.err(); err != nil {
		return nil, err
	}
	return s, s.check()
}

// checkText rejects text that no editor would save, and section lines that txtar would take for contents.
func checkText(text string) error {
	number := 0
	for line := range strings.SplitSeq(text, "\n") {
		number++
		if !utf8.ValidString(line) {
			return fail(number, "not text: the line is not valid UTF-8")
		}
		for _, c := range line {
			if unicode.IsControl(c) && c != '\t' {
				return fail(number, "not text: the line contains the control character %U", c)
			}
		}
		if line != "--" && !strings.HasPrefix(line, "-- ") {
			continue
		}
		if name, ok := strings.CutSuffix(line, " --"); !ok || len(name) < len("-- ") || strings.TrimSpace(name[len("-- "):]) == "" {
			return fail(number, "malformed section line %q; write -- LOCK nodes=N --", line)
		}
	}
	return nil
}

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

// parseHeadPart parses a setting, a lane, a must or a report.
func (s *Scenario) parseHeadPart(in *lines) error {
	line, at := in.peek(), in.number()
	if err := checkTab(line, at); err != nil {
		return err
	}
	switch words := strings.Fields(line); {
	case line[0] == ' ':
		return fail(at, "%q belongs to no lane; a blank line ends a lane, and only steps are indented", strings.TrimSpace(line))
	case words[0] == "ttl":
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
	case words[0] == "speed":
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
	case words[0] == "sweep":
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
	case words[0] == "client", words[0] == Nemesis:
		lane, err := parseLane(in, s.Lanes)
		if err != nil {
			return err
		}
		if len(lane.Steps) == 0 {
			return fail(at, "the lane of %s has no steps; each stands on a line of its own, indented by two spaces", lane.Process)
		}
		s.Lanes = append(s.Lanes, lane)
	case words[0] == "must":
		must, err := parseMust(in)
		if err != nil {
			return err
		}
		s.Musts, s.mustLines = append(s.Musts, must), append(s.mustLines, at)
	case words[0] == "report":
		var err error
		if s.Reports, err = parseReport(in, s.Reports); err != nil {
			return err
		}
	case words[0] == "sim":
		var err error
		if s.SimOnly, err = parseSimOnly(in, s.SimOnly); err != nil {
			return err
		}
	case words[0] == "expect":
		return fail(at, "expect belongs to a run; put it below a section line such as -- single nodes=1 --")
	case line[0] == '#':
		return fail(at, "prose belongs at the top of the file, without a gap")
	case stepForms[words[0]] != "":
		return fail(at, "%q is a step of a client; it must be indented by two spaces", line)
	default:
		return fail(at, "%w", history.Unknown("setting", words[0], []string{"client", "must", Nemesis, "report", "sim only:", "speed", "sweep", "ttl"}))
	}
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
		return fail(1, "the file does not begin with its title, such as # A pause outlives the lease.")
	}
	s.Title = strings.TrimSpace(prose[0])
	if !strings.HasSuffix(s.Title, ".") {
		return fail(1, "the title %q does not end with a full stop", s.Title)
	}
	s.Prose = strings.Trim(strings.Join(prose[1:], "\n"), "\n")
	return nil
}

// WordsOf returns the elements of a list as strings.
func WordsOf[S ~string](list []S) []string {
	var words []string
	for _, s := range list {
		words = append(words, string(s))
	}
	return words
}

func sorted(forms map[string]string) []string {
	var words []string
	for word := range forms {
		words = append(words, word)
	}
	slices.Sort(words)
	return words
}

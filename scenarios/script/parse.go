package script

import (
	"bytes"
	"context"
	"fmt"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"golang.org/x/tools/txtar"

	"lockstep/checker"
	"lockstep/clients"
	"lockstep/nodes/engine"
	"lockstep/reports"
	"lockstep/scenarios/files"
	"lockstep/sim/history"
)

// An Error says what is wrong with a scenario file, and where.
type Error struct {
	File string
	Line int // from 1
	Err  error
}

// longestMistake limits the length of an error, in characters. It quotes the file, whose lines may have any length.
const longestMistake = 600

func (e *Error) Error() string {
	return fmt.Sprintf("%s:%d: %s", e.File, e.Line, reports.Shorten(e.Err.Error(), longestMistake))
}
func (e *Error) Unwrap() error { return e.Err }

// mistakes are several errors, in the order of their lines. [errors.As] finds the first.
type mistakes []*Error

// shownMistakes is how many errors a message has.
const shownMistakes = 10

func (m mistakes) Error() string {
	var all []string
	for _, e := range m[:min(len(m), shownMistakes)] {
		all = append(all, e.Error())
	}
	if more := len(m) - shownMistakes; more > 0 {
		all = append(all, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(all, "\n")
}

func (m mistakes) Unwrap() []error {
	var all []error
	for _, e := range m {
		all = append(all, e)
	}
	return all
}

// add adds an error made by fail, or several.
func (m *mistakes) add(err error) {
	switch err := err.(type) {
	case *Error:
		*m = append(*m, err)
	case mistakes:
		*m = append(*m, err...)
	}
}

// err returns nil, the only mistake, or all.
func (m mistakes) err() error {
	switch len(m) {
	case 0:
		return nil
	case 1:
		return m[0]
	}
	return m
}

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

// fail makes an error at a line; Parse adds the file.
func fail(line int, format string, args ...any) error {
	return &Error{Line: line, Err: fmt.Errorf(format, args...)}
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

// lines is a part of a file that is read line by line.
type lines struct {
	text  []string
	next  int // index into text
	first int // the line number of text[0] in the file
}

func newLines(data []byte, first int) *lines {
	l := &lines{first: first}
	if len(data) > 0 {
		l.text = strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")
	}
	return l
}

// number returns the number of the next line in the file; after the last line, of the line that would follow.
func (l *lines) number() int { return l.first + l.next }

func (l *lines) more() bool   { return l.next < len(l.text) }
func (l *lines) peek() string { return l.text[l.next] }

// skipBlank skips blank lines and reports whether anything is left.
func (l *lines) skipBlank() bool {
	for l.more() && strings.TrimSpace(l.peek()) == "" {
		l.next++
	}
	return l.more()
}

// leave goes on after a mistake that began at a line, given by its index: after that line, or what was read from there, and the
// lines that it may have made meaningless, which are the indented ones below and the rest of a comment.
func (l *lines) leave(begun int) {
	comment := l.text[begun][0] == '#'
	l.next = max(l.next, begun+1)
	for l.more() && l.peek() != "" && (isStep(l.peek()) || comment && l.peek()[0] == '#') {
		l.next++
	}
}

// rest returns all remaining lines, verbatim.
func (l *lines) rest() string {
	return strings.Join(l.text[l.next:], "\n") + "\n"
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

var (
	lockName  = regexp.MustCompile(`^[a-z][a-z0-9-]*$`)
	labelName = regexp.MustCompile(`^[a-z0-9][a-z0-9-]*$`)
	valueName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)
	nodeName  = regexp.MustCompile(`^[nrsp][0-9]+$`) // nodes, replicas, sentinels and shards

	checksumForm = regexp.MustCompile(`^[0-9a-f]{16}$`)
)

// longestWord limits the number of characters in the name of a lock and in a label. They are parts of file names.
const longestWord = 64

// parseRun parses a section. The header is the text between the dashes of its section line, whose line number is marker.
func parseRun(header string, marker int, in *lines) (Section, error) {
	r := Section{line: marker}
	var all mistakes
	if err := r.parseHeader(header); err != nil {
		all.add(fail(marker, "%w", err))
	}
	for in.skipBlank() && r.Golden == "" {
		begun := in.next
		if err := r.parsePart(in); err != nil {
			all.add(err)
			in.leave(begun)
		}
	}
	return r, all.err()
}

// parsePart parses a lane, a must, a report or an expectation, or the timeline, which is the rest of the section.
func (r *Section) parsePart(in *lines) error {
	line, at := in.peek(), in.number()
	if err := checkTab(line, at); err != nil {
		return err
	}
	word, _, _ := strings.Cut(line, " ")
	switch word {
	case "client", Nemesis:
		lane, err := parseLane(in, r.Lanes)
		if err != nil {
			return err
		}
		r.Lanes = append(r.Lanes, lane)
	case "must":
		must, err := parseMust(in)
		if err != nil {
			return err
		}
		r.Musts, r.mustLines = append(r.Musts, must), append(r.mustLines, at)
	case "report":
		var err error
		if r.Reports, err = parseReport(in, r.Reports); err != nil {
			return err
		}
	case "sim":
		var err error
		if r.SimOnly, err = parseSimOnly(in, r.SimOnly); err != nil {
			return err
		}
	case "expect":
		e, err := parseExpectation(in)
		if err != nil {
			return err
		}
		for _, f := range r.Expect {
			if f.Property == e.Property {
				return fail(at, "duplicate expectation for %s; the first is at line %d", e.Property, f.line)
			}
		}
		r.Expect = append(r.Expect, e)
	default:
		return r.parseGolden(in)
	}
	return nil
}

func (r *Section) parseHeader(header string) error {
	words := strings.Fields(header)
	if !lockName.MatchString(words[0]) {
		return fmt.Errorf("%q is not the name of a lock; a name consists of lower-case letters, digits and dashes, such as redlock", words[0])
	}
	if len(words[0]) > longestWord {
		return fmt.Errorf("the name of the lock may have at most %d characters, not %d", longestWord, len(words[0]))
	}
	r.Lock = words[0]
	seen := map[string]bool{}
	for _, word := range words[1:] {
		key, value, ok := strings.Cut(word, "=")
		if !ok {
			return fmt.Errorf("%q is not a setting; write KEY=VALUE", word)
		}
		if seen[key] {
			return fmt.Errorf("%s is set twice", key)
		}
		seen[key] = true
		if err := r.set(key, value); err != nil {
			return err
		}
	}
	if r.Nodes == 0 {
		return fmt.Errorf("run %s does not say how many nodes it has; write -- %s nodes=1 --", r.ID(), r.Lock)
	}
	return r.checkSettings()
}

func (r *Section) set(key, value string) (err error) {
	switch key {
	case "nodes":
		r.Nodes, err = parseCount(key, value, 1)
	case "replicas":
		r.Replicas, err = parseCount(key, value, 1)
	case "sentinels":
		r.Sentinels, err = parseCount(key, value, 1)
	case "shards":
		r.Shards, err = parseCount(key, value, leastShards)
	case "down-after":
		r.DownAfter, err = parseSetting(key, value)
	case "min-replicas":
		r.MinReplicas, err = parseCount(key, value, 1)
	case "persistence":
		r.Persistence = value
		if kinds := WordsOf(engine.Persistences); !slices.Contains(kinds, value) {
			return history.Unknown("persistence", value, kinds)
		}
	case "pool":
		r.Pool = value
		if value != Warm {
			return history.Unknown("pool", value, []string{Warm})
		}
	case "seed":
		if r.Seed, err = strconv.ParseUint(value, 10, 64); err != nil || r.Seed == 0 || value != strconv.FormatUint(r.Seed, 10) {
			return fmt.Errorf("seed=%s: a seed is a whole number from 1 on", value)
		}
	case "checksum":
		r.Checksum = value
		if !checksumForm.MatchString(value) {
			return fmt.Errorf("checksum=%s: a checksum has 16 digits from 0 to f", value)
		}
	case "resource":
		r.Resource = value
		if kinds := clients.Resources(); !slices.Contains(kinds, value) {
			return history.Unknown("resource", value, kinds)
		}
	case "label":
		r.Label = value
		if !labelName.MatchString(value) {
			return fmt.Errorf("label=%s: a label is lower-case letters, digits and dashes", value)
		}
		if len(value) > longestWord {
			return fmt.Errorf("the label may have at most %d characters, not %d", longestWord, len(value))
		}
	case "ttl":
		r.TTL, err = parseSetting(key, value)
	case "speed":
		if r.Speed, err = parseSpeed(value); err != nil {
			return fmt.Errorf("speed=%w", err)
		}
	default:
		return history.Unknown("setting", key, settings)
	}
	return err
}

// settings are the keys of a section line, in the order in which they are printed.
var settings = []string{
	"nodes", "replicas", "sentinels", "shards", "down-after", "min-replicas", "persistence", "pool", "resource", "label", "ttl",
	"speed", "seed", "checksum",
}

// parseSimOnly parses the reason why something is not possible on real servers.
func parseSimOnly(in *lines, before string) (why string, err error) {
	line, at := in.peek(), in.number()
	why, ok := strings.CutPrefix(line, "sim only: ")
	switch why = strings.TrimSpace(why); {
	case !ok || why == "":
		return "", fail(at, "cannot read %q; write sim only: WHY", strings.TrimSpace(line))
	case before != "":
		return "", fail(at, "duplicate sim only; it is said already: %s", before)
	}
	in.next++
	return why, nil
}

// mostSpeed is the speed at which a TTL of one minute, the longest, would become too short for real servers.
const mostSpeed = 100

func parseSpeed(value string) (int, error) {
	n, err := strconv.Atoi(value)
	if err != nil || n < 1 || n > mostSpeed || strconv.Itoa(n) != value {
		return 0, fmt.Errorf("%s: write a whole number from 1 to %d, what durations may be divided by on real servers", value, mostSpeed)
	}
	return n, nil
}

// parseCount parses a number of processes: one digit, because processes are n1 to n9.
func parseCount(key, value string, least byte) (int, error) {
	if len(value) != 1 || value[0] < '0'+least || value[0] > '9' {
		return 0, fmt.Errorf("%s=%s: write a number from %d to 9", key, value, least)
	}
	return int(value[0] - '0'), nil
}

func parseSetting(key, value string) (time.Duration, error) {
	d, err := history.ParsePositive(value)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", key, err)
	}
	return d, nil
}

// checkSettings checks that settings do not contradict each other.
func (r *Section) checkSettings() error {
	for _, s := range []struct {
		key   string
		count int
		what  string
	}{
		{"replicas", r.Replicas, "replicas are copies of n1"},
		{"sentinels", r.Sentinels, "sentinels watch n1 and its replicas"},
		{"shards", r.Shards, "n1 is the first shard of its cluster"},
	} {
		if s.count > 0 && r.Nodes != 1 {
			return fmt.Errorf("%s=%d goes with nodes=1 only, not with nodes=%d: %s", s.key, s.count, r.Nodes, s.what)
		}
	}
	switch {
	case r.Sentinels > 0 && r.Shards > 0:
		return fmt.Errorf("sentinels=%d and shards=%d do not go together: the shards of a cluster watch each other", r.Sentinels, r.Shards)
	case r.Sentinels > 0 && r.Replicas == 0:
		return fmt.Errorf("sentinels=%d have no replica to promote; write replicas=1 as well", r.Sentinels)
	case r.Shards > 0 && r.Replicas == 0:
		return fmt.Errorf("shards=%d have no replica to promote; write replicas=1 as well", r.Shards)
	case r.DownAfter > 0 && r.Sentinels+r.Shards == 0:
		return fmt.Errorf("down-after=%s without sentinels or shards: no server finds out that n1 is down", history.FormatDuration(r.DownAfter))
	case r.Pool == Warm && r.Replicas > 0:
		return fmt.Errorf("pool=%s goes with lock nodes without replicas only, not with replicas=%d: clients learn only during the run which server is the primary", Warm, r.Replicas)
	case r.MinReplicas > r.Replicas:
		return fmt.Errorf("min-replicas=%d with replicas=%d: n1 would accept no write", r.MinReplicas, r.Replicas)
	}
	return nil
}

// parseGolden takes the rest of a section as the timeline. Any text is allowed there, and the program rewrites it. So it must not
// contain a line that the author meant for the rest of the section.
func (r *Section) parseGolden(in *lines) error {
	keywords := []string{"client", "expect", "must", Nemesis, "report", "sim"}
	for i, line := range in.text[in.next:] {
		at := in.number() + i
		word, _, _ := strings.Cut(line, " ")
		switch {
		case i > 0 && slices.Contains(keywords, word):
			began := in.number()
			in.next = len(in.text)
			return fail(at, "%s belongs before the timeline, which begins at line %d", word, began)
		case i > 0:
		case line[0] == '#':
			return fail(at, "prose belongs at the top of the file")
		case history.Nearest(word, keywords) != "":
			return fail(at, "%w", history.Unknown("setting", word, keywords))
		case word == "ttl":
			return fail(at, "the ttl of a run belongs in its section line; write -- %s nodes=%d ttl=DURATION --", r.Lock, r.Nodes)
		case word == "speed":
			return fail(at, "the speed of a run belongs in its section line; write -- %s nodes=%d speed=NUMBER --", r.Lock, r.Nodes)
		case isStep(line):
			return fail(at, "%q belongs neither to a lane nor to a timeline, which begins with a time", strings.TrimSpace(line))
		}
	}
	r.GoldenLine, r.Golden = in.number(), in.rest()
	return nil
}

// isStep reports whether a line is a step, which is indented and begins with a word, and not a line of a timeline, which begins
// with a time.
func isStep(line string) bool {
	text := strings.TrimSpace(line)
	return text != "" && (line[0] == ' ' || line[0] == '\t') && (text[0] < '0' || text[0] > '9')
}

func checkTab(line string, at int) error {
	if strings.Contains(line, "\t") {
		return fail(at, "the line contains a tab; use spaces, two to indent a step")
	}
	return nil
}

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
	if name == Nemesis || name == ResourceName || name == ProbeName || nodeName.MatchString(name) {
		return fmt.Errorf("no client can be named %s; that is another process; write client c1", name)
	}
	return nil
}

func parseMust(in *lines) (checker.Must, error) {
	line, at := in.peek(), in.number()
	in.next++
	must, err := checker.ParseMust(strings.Join(strings.Fields(line)[1:], " "))
	if err != nil {
		return must, fail(at, "must: %w", err)
	}
	return must, nil
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

// WordsOf returns the elements of a list as strings.
func WordsOf[S ~string](list []S) []string {
	var words []string
	for _, s := range list {
		words = append(words, string(s))
	}
	return words
}

// ParseStep parses a line of the lane of a process, without its indentation.
func ParseStep(process, text string) (Step, error) {
	if process == Nemesis {
		return parseNemesisStep(strings.Fields(text))
	}
	return parseClientStep(strings.Fields(text))
}

// stepForms is the form of each step of a client, which errors quote.
var stepForms = map[string]string{
	"acquire":   "acquire [within DURATION [every DURATION]]",
	"check":     "check",
	"enter":     "enter",
	"extend":    "extend [DURATION]",
	"increment": "increment [within DURATION]",
	"pause":     "pause DURATION",
	"read":      "read",
	"release":   "release [cancelled]",
	"repeat":    "repeat NUMBER STEP",
	"sleep":     "sleep DURATION",
	"stay":      "stay",
	"until":     "until DURATION",
	"update":    "update WORD",
	"write":     "write VALUE [blind]",
}

func parseClientStep(words []string) (Step, error) {
	verb, args := words[0], words[1:]
	switch {
	case verb == "acquire" && len(args) == 0:
		return Acquire{}, nil
	case verb == "acquire" && len(args) == 2 && args[0] == "within":
		d, err := history.ParsePositive(args[1])
		return Acquire{Within: d}, err
	case verb == "acquire" && len(args) == 4 && args[0] == "within" && args[2] == "every":
		return parseAcquire(args[1], args[3])
	case verb == "extend" && len(args) == 0:
		return Extend{}, nil
	case verb == "extend" && len(args) == 1:
		return parseExtend(args[0])
	case verb == "release" && len(args) == 0:
		return Release{}, nil
	case verb == "release" && len(args) == 1 && args[0] == "cancelled":
		return Release{Cancelled: true}, nil
	case verb == "increment" && len(args) == 0:
		return Increment{}, nil
	case verb == "increment" && len(args) == 2 && args[0] == "within":
		d, err := history.ParsePositive(args[1])
		return Increment{Within: d}, err
	case verb == "enter" && len(args) == 0:
		return Enter{}, nil
	case verb == "write" && len(args) == 1:
		return Write{Value: args[0]}, checkValue(args[0])
	case verb == "write" && len(args) == 2 && args[1] == "blind":
		return Write{Value: args[0], Blind: true}, checkValue(args[0])
	case verb == "update" && len(args) == 1:
		return Update{Word: args[0]}, checkValue(args[0])
	case verb == "stay" && len(args) == 0:
		return Stay{}, nil
	case verb == "repeat" && len(args) >= 2:
		return parseRepeat(args)
	case verb == "read" && len(args) == 0:
		return Read{}, nil
	case verb == "check" && len(args) == 0:
		return Check{}, nil
	case verb == "pause" && len(args) == 1:
		d, err := history.ParsePositive(args[0])
		return Pause{For: d}, err
	case verb == "sleep" && len(args) == 1:
		d, err := history.ParsePositive(args[0])
		return Sleep{For: d}, err
	case verb == "until" && len(args) == 1:
		d, err := history.ParsePositive(args[0])
		return Until{Time: d}, err
	}
	if form, ok := stepForms[verb]; ok {
		return nil, fmt.Errorf("cannot read %q; write %s", strings.Join(words, " "), form)
	}
	return nil, history.Unknown("step", verb, sorted(stepForms))
}

func parseAcquire(within, every string) (s Acquire, err error) {
	if s.Within, err = history.ParsePositive(within); err != nil {
		return s, err
	}
	s.Every, err = history.ParsePositive(every)
	return s, err
}

// parseExtend parses the TTL of an extension. Redis counts in milliseconds.
func parseExtend(ttl string) (Step, error) {
	d, err := history.ParsePositive(ttl)
	if err == nil && d%time.Millisecond != 0 {
		err = fmt.Errorf("extend %s: write whole milliseconds", history.FormatDuration(d))
	}
	return Extend{TTL: d}, err
}

func parseRepeat(words []string) (Step, error) {
	n, err := strconv.Atoi(words[0])
	if err != nil || n < 1 || n > MaxRepeat {
		return nil, fmt.Errorf("cannot repeat %q times; write a number from 1 to %d", words[0], MaxRepeat)
	}
	step, err := parseClientStep(words[1:])
	if err != nil {
		return nil, err
	}
	switch step.(type) {
	case Repeat:
		return nil, fmt.Errorf("cannot repeat %q: a repeat cannot contain another", step)
	case Until:
		return nil, fmt.Errorf("cannot repeat %q: it does nothing the second time", step)
	case Stay:
		return nil, fmt.Errorf("cannot repeat %q: it is the last step of a lane", step)
	}
	return Repeat{N: n, Step: step}, nil
}

func checkValue(value string) error {
	if !valueName.MatchString(value) {
		return fmt.Errorf("%q is not a value; a value is one word of letters, digits, dots and dashes, such as A", value)
	}
	return nil
}

func parseNemesisStep(words []string) (Step, error) {
	switch words[0] {
	case "at":
		if len(words) < 3 {
			return nil, fmt.Errorf("cannot read %q; write at DURATION FAULT", strings.Join(words, " "))
		}
		d, err := history.ParseSpan(words[1])
		if err != nil {
			return nil, err
		}
		fault, err := parseFault(words[2:])
		return At{Time: d, Fault: fault}, err
	case "when":
		return parseWhen(words[1:])
	}
	if verbs := history.FaultVerbs(); !slices.Contains(verbs, words[0]) {
		verbs = append(verbs, "at", "when")
		slices.Sort(verbs)
		return nil, history.Unknown("step", words[0], verbs)
	}
	fault, err := parseFault(words)
	return AtStart{Fault: fault}, err
}

func parseFault(words []string) (history.Fault, error) {
	return history.ParseFault(strings.Join(words, " "))
}

func parseWhen(words []string) (Step, error) {
	text := strings.Join(append([]string{"when"}, words...), " ")
	form := "when PROCESS EVENT [#NUMBER] [+DURATION] FAULT"
	if len(words) < 2 {
		return nil, fmt.Errorf("cannot read %q; write %s", text, form)
	}
	s := When{Event: Event{Process: words[0], What: What(words[1])}}
	words = words[2:]
	if err := history.CheckName(s.Event.Process); err != nil {
		return nil, err
	}
	if !slices.Contains(whats, s.Event.What) {
		return nil, history.Unknown("event", string(s.Event.What), WordsOf(whats))
	}
	if value := s.Event.What.Form(); value != "" {
		form = "when PROCESS " + string(s.Event.What) + " " + value + " [#NUMBER] [+DURATION] FAULT"
		if len(words) == 0 {
			return nil, fmt.Errorf("cannot read %q; write %s", text, form)
		}
		s.Event.Value, words = words[0], words[1:]
		if err := checkValue(s.Event.Value); err != nil {
			return nil, err
		}
	}
	var err error
	if s.Event.Nth, words, err = history.ParseNth(words); err != nil {
		return nil, err
	}
	if len(words) > 0 && strings.HasPrefix(words[0], "+") {
		if s.After, err = history.ParsePositive(words[0][1:]); err != nil {
			return nil, err
		}
		words = words[1:]
	}
	if len(words) == 0 {
		return nil, fmt.Errorf("cannot read %q; write %s", text, form)
	}
	s.Fault, err = parseFault(words)
	return s, err
}

func sorted(forms map[string]string) []string {
	var words []string
	for word := range forms {
		words = append(words, word)
	}
	slices.Sort(words)
	return words
}

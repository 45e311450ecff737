package script

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"lockstep/clients"
	"lockstep/nodes/engine"
	"lockstep/sim/history"
)

var (
	lockName  = regexp.MustCompile(`^[a-z][a-z0-9-]*$`)
	labelName = regexp.MustCompile(`^[a-z0-9][a-z0-9-]*$`)
	nameForm  = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9.:_/-]*$`)
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
	if clients.IsWasm(words[0]) {
		if err := clients.CheckWasm(words[0]); err != nil {
			return err
		}
	} else if !lockName.MatchString(words[0]) {
		return fmt.Errorf("%q is not the name of a lock; a name has only lower-case letters, digits and dashes, and begins with a letter, such as redlock", words[0])
	}
	if len(words[0]) > longestWord && !clients.IsWasm(words[0]) {
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
		return fmt.Errorf("run %s does not say how many nodes it has; write -- %s nodes=%d --", r.ID(), r.Lock, clients.UsualNodes(r.Lock))
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
	case "guests":
		if r.Guests = value == yes; !r.Guests {
			return fmt.Errorf("guests=%s: it must be yes; without the setting, clients are native", value)
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
			return fmt.Errorf("label=%s: a label has only lower-case letters, digits and dashes, and does not begin with a dash", value)
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

// yes is the only value of a setting that is left out otherwise.
const yes = "yes"

// settings are the keys of a section line, in the order in which they are printed.
var settings = []string{
	"nodes", "replicas", "sentinels", "shards", "down-after", "min-replicas", "persistence", "pool", "guests", "resource", "label", "ttl",
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

// mostSpeed is the greatest speed: a TTL of one minute would become 600 ms, which is about the shortest that real servers can keep.
const mostSpeed = 100

func parseSpeed(value string) (int, error) {
	n, err := strconv.Atoi(value)
	if err != nil || n < 1 || n > mostSpeed || strconv.Itoa(n) != value {
		return 0, fmt.Errorf("%s: write a whole number from 1 to %d, by which durations may be divided on real servers", value, mostSpeed)
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

// beginsTimeline reports whether a timeline may begin with a line: with a time, before which a proof has a mark, or in a sweep with how many
// positions there are.
func beginsTimeline(line string) bool {
	first, rest, _ := strings.Cut(strings.TrimSpace(strings.TrimPrefix(line, "!")), " ")
	if _, err := strconv.Atoi(first); err == nil {
		return strings.HasPrefix(rest, "of ") || strings.HasPrefix(rest, "position")
	}
	_, err := history.ParseDuration(first)
	return err == nil
}

// parseGolden takes the rest of a section as the timeline. The program rewrites it, whatever it says. So it must begin like one, and not
// contain a line that the author meant for the rest of the section.
func (r *Section) parseGolden(in *lines) error {
	keywords := []string{"client", "expect", "must", Nemesis, "report", "sim"}
	for i, line := range in.text[in.next:] {
		at := in.number() + i
		word, _, _ := strings.Cut(line, " ")
		key, _, _ := strings.Cut(word, "=")
		switch {
		case i > 0 && slices.Contains(keywords, word):
			began := in.number()
			in.next = len(in.text)
			return fail(at, "%s belongs before the timeline, which begins at line %d", word, began)
		case i > 0:
		case line[0] == '#':
			return fail(at, "prose belongs at the top of the file")
		case slices.Contains(settings, key):
			return fail(at, "%s belongs in the section line of its run; write %s=VALUE before the dashes at its end", key, key)
		case stepForms[word] != "":
			return failUnindented(at, line)
		case history.Nearest(word, keywords) != "":
			return fail(at, "%w", history.Unknown("setting", word, keywords))
		case isStep(line):
			return fail(at, "%q belongs neither to a lane nor to a timeline, which begins with a time", strings.TrimSpace(line))
		case !beginsTimeline(line):
			return fail(at, "%q is neither a setting, an expectation nor a timeline, whose first line begins with a time", strings.TrimSpace(line))
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

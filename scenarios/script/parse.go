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
	var all mistakes
	all.add(s.parseProse(head))
	all.add(s.parseHead(head))
	if len(archive.Files) == 0 && len(all) == 0 {
		return nil, fail(head.number()-1, "the file ends without a run; add a last line with a lock and its number of nodes, such as -- single nodes=1 -- or -- redlock nodes=5 --")
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

package script

import "strings"

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

func checkTab(line string, at int) error {
	if strings.Contains(line, "\t") {
		return fail(at, "the line contains a tab; use spaces, two to indent a step")
	}
	return nil
}

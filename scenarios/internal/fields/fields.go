// Package fields reads files of named fields, the form in which claims and findings are written:
//
//	kind: agreed
//	said: antirez (antirez2016, Fsync or not?)
//
//	decides:
//	  Whether a process is paused for longer than its lease lasts. No operating
//	  system rules that out, and none reports it afterwards.
//
// A field begins in the first column with its name and a colon. A value stands on the same line. Text stands below, indented; its
// lines are joined by spaces, and a blank line between them begins a new paragraph. There are no comments and no escapes.
package fields

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"lockstep/sim/history"
)

// A Rule says what a field looks like and how often it must be there.
type Rule struct {
	Name        string
	Shape       Shape
	Least, Most int
}

// A Shape says whether a field has a value, text, or both.
type Shape int

const (
	Line       Shape = iota // a value
	Paragraph               // one paragraph of text
	Paragraphs              // text of any number of paragraphs
	Titled                  // a value, and one paragraph of text
)

// A Field is one field of a file.
type Field struct {
	Value string
	Text  []string // its paragraphs

	name string
	line int
}

// A File is the fields of one file.
type File struct {
	name   string
	fields []Field
}

const largest = 64 << 10 // of a file, in bytes

// Parse reads a file. Its fields may have any order. An error names the file and the line, and says what is required.
func Parse(name string, data []byte, rules []Rule) (*File, error) {
	if len(data) > largest {
		return nil, fmt.Errorf("%s: the file must not be larger than %d KiB", name, largest>>10)
	}
	f, fail := &File{name: name}, func(line int, format string, args ...any) error {
		return fmt.Errorf("%s:%d: %w", name, line, fmt.Errorf(format, args...))
	}
	var names []string
	for _, r := range rules {
		names = append(names, r.Name)
	}
	lines := strings.Split(strings.TrimRight(string(data), "\r\n"), "\n")
	blank := true // a new paragraph begins
	for i, line := range lines {
		line = strings.TrimSuffix(line, "\r")
		if err := printable(line); err != nil {
			return nil, fail(i+1, "%w", err)
		}
		text := strings.Join(strings.Fields(line), " ")
		switch {
		case text == "":
			blank = true
		case line[0] != ' ' && line[0] != '\t':
			word, value, ok := strings.Cut(text, ":")
			if !ok || strings.Contains(word, " ") {
				return nil, fail(i+1, "a line must be a field such as %s: VALUE, or text, which is indented; cannot read %.60q", names[0], text)
			}
			if !slices.Contains(names, word) {
				return nil, fail(i+1, "%w", history.Unknown("field", word[:min(len(word), 60)], names))
			}
			f.fields = append(f.fields, Field{name: word, Value: strings.TrimSpace(value), line: i + 1})
			blank = true
		case len(f.fields) == 0:
			return nil, fail(i+1, "a file must begin with a field such as %s: VALUE in the first column", names[0])
		default:
			last := &f.fields[len(f.fields)-1]
			if blank {
				last.Text = append(last.Text, text)
			} else {
				last.Text[len(last.Text)-1] += " " + text
			}
			blank = false
		}
	}
	for _, r := range rules {
		all := f.All(r.Name)
		switch {
		case len(all) < r.Least && r.Most == 1:
			return nil, fail(len(lines), "there must be a field %q", r.Name+":")
		case len(all) < r.Least:
			return nil, fail(len(lines), "there must be at least %d fields %q; there are %d", r.Least, r.Name+":", len(all))
		case len(all) > r.Most && r.Most == 1:
			return nil, fail(all[1].line, "there must be only one field %q", r.Name+":")
		case len(all) > r.Most:
			return nil, fail(all[r.Most].line, "there must be at most %d fields %q", r.Most, r.Name+":")
		}
		for _, field := range all {
			if err := r.check(field); err != nil {
				return nil, fail(field.line, "%w", err)
			}
		}
	}
	return f, nil
}

// check returns an error if a field does not have the shape that the rule requires.
func (r Rule) check(f Field) error {
	switch value, text := f.Value != "", len(f.Text); {
	case r.Shape == Line && !value, r.Shape == Titled && !value:
		return fmt.Errorf("%s must have a value on its line", r.Name)
	case r.Shape == Line && text > 0:
		return fmt.Errorf("%s must have its whole value on one line, and no text below", r.Name)
	case r.Shape == Paragraph && value, r.Shape == Paragraphs && value:
		return fmt.Errorf("%s must have its text on the lines below it, indented", r.Name)
	case r.Shape != Line && text == 0:
		return fmt.Errorf("%s must have text below it, indented", r.Name)
	case r.Shape != Paragraphs && text > 1:
		return fmt.Errorf("%s must be one paragraph, without a blank line", r.Name)
	}
	return nil
}

// printable returns an error for what no editor saves as text.
func printable(line string) error {
	if !utf8.ValidString(line) {
		return fmt.Errorf("the file must be UTF-8")
	}
	for _, c := range line {
		if unicode.IsControl(c) && c != '\t' || c == '\ufeff' {
			return fmt.Errorf("the line must be plain text, and contains %U", c)
		}
	}
	return nil
}

// All returns the fields with a name, in the order of the file.
func (f *File) All(name string) []Field {
	var all []Field
	for _, field := range f.fields {
		if field.name == name {
			all = append(all, field)
		}
	}
	return all
}

// Values returns the values of the fields with a name.
func (f *File) Values(name string) []string {
	var all []string
	for _, field := range f.All(name) {
		all = append(all, field.Value)
	}
	return all
}

// Value returns the value of a field that must occur once.
func (f *File) Value(name string) string { return f.All(name)[0].Value }

// Text returns the only paragraph of a field that must occur once.
func (f *File) Text(name string) string { return f.Paragraphs(name)[0] }

// Paragraphs returns the paragraphs of a field that must occur once.
func (f *File) Paragraphs(name string) []string { return f.All(name)[0].Text }

// Fail returns an error with the line of the nth field with a name, counted from 0.
func (f *File) Fail(name string, n int, format string, args ...any) error {
	return fmt.Errorf("%s:%d: %w", f.name, f.All(name)[n].line, fmt.Errorf(format, args...))
}

package script

import (
	"fmt"
	"strings"

	"lockstep/reports"
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

// fail makes an error at a line; Parse adds the file.
func fail(line int, format string, args ...any) error {
	return &Error{Line: line, Err: fmt.Errorf(format, args...)}
}

package reports

import (
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Visible makes text from outside safe to show in one line. Names come from files, values and errors from the lock under test;
// what they contain must not move a terminal's cursor, reverse the direction of a line, or break it. What cannot be shown
// becomes a question mark; tabs and the ends of lines become spaces.
func Visible(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' {
			return ' '
		}
		return shown(r)
	}, s)
}

// VisibleLines is [Visible] for a text of several lines, which keeps them, and its tabs.
func VisibleLines(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' {
			return r
		}
		return shown(r)
	}, s)
}

// shown is what stands for a character where it is shown.
func shown(r rune) rune {
	if !unicode.IsGraphic(r) || r == utf8.RuneError {
		return '?'
	}
	return r
}

// Printable makes text from outside safe to show where there is no room for lines or tabs: each is a question mark as well, and
// what goes beyond max characters is cut.
func Printable(s string, max int) string {
	var b strings.Builder
	n := 0
	for i, r := range s {
		if n == max-1 && utf8.RuneCountInString(s[i:]) > 1 {
			b.WriteRune('…')
			break
		}
		b.WriteRune(shown(r))
		n++
	}
	return b.String()
}

// Shorten cuts the middle out of a text of more than max characters: how a message begins and how it ends matters more than what it
// quotes between.
func Shorten(s string, max int) string {
	all := []rune(s)
	if len(all) <= max {
		return s
	}
	return string(all[:max/2]) + " … " + string(all[len(all)-max/2:])
}

// FirstLine returns the first of several errors that were joined: one for each node says little more than one.
func FirstLine(err string) string {
	line, _, _ := strings.Cut(err, "\n")
	return line
}

// Span is how a picture writes the length of an interval: with about two significant digits, for a reader who compares.
func Span(d time.Duration) string {
	switch {
	case d >= 9950*time.Millisecond:
		return fmt.Sprintf("%.0f s", d.Seconds())
	case d >= time.Second:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case d >= 9950*time.Microsecond:
		return fmt.Sprintf("%.0f ms", 1e3*d.Seconds())
	case d >= time.Millisecond:
		return fmt.Sprintf("%.1f ms", 1e3*d.Seconds())
	}
	return fmt.Sprintf("%.0f µs", 1e6*d.Seconds())
}

package reports

import (
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Visible makes external text safe to show in one line. Names come from files, values and errors from the lock under test; they
// must not move a terminal's cursor, reverse the direction of a line, or break it. Characters that cannot be shown become
// question marks; tabs and line ends become spaces.
func Visible(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' {
			return ' '
		}
		return shown(r)
	}, s)
}

// VisibleLines is [Visible] for a text of several lines. It keeps line ends and tabs.
func VisibleLines(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' {
			return r
		}
		return shown(r)
	}, s)
}

// shown returns r, or a question mark if it cannot be shown.
func shown(r rune) rune {
	if !unicode.IsGraphic(r) || r == utf8.RuneError {
		return '?'
	}
	return r
}

// Printable makes external text safe to show where lines and tabs are not possible: they become question marks too, and the text
// is cut after max characters.
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

// Shorten cuts the middle out of a text of more than max characters: the beginning and the end of a message matter more than
// quoted text in between.
func Shorten(s string, max int) string {
	all := []rune(s)
	if len(all) <= max {
		return s
	}
	return string(all[:max/2]) + " … " + string(all[len(all)-max/2:])
}

// FirstLine returns the first of several joined errors. The others, one for each node, add little.
func FirstLine(err string) string {
	line, _, _ := strings.Cut(err, "\n")
	return line
}

// Span formats the length of an interval for a picture, with about two significant digits.
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

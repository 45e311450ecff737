package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"lockstep/reports"
)

// operand quotes an argument for a shell, and keeps a file whose name begins with a dash from being taken for options.
func operand(word string) string {
	if strings.HasPrefix(word, "-") {
		word = "." + string(filepath.Separator) + word
	}
	return quoted(word)
}

// quoted quotes a word for a shell if necessary.
func quoted(word string) string {
	plain := func(r rune) bool {
		return r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z' || strings.ContainsRune("-_./,:=@%+", r)
	}
	if word != "" && !strings.ContainsFunc(word, func(r rune) bool { return !plain(r) }) {
		return word
	}
	if reports.Visible(word) == word {
		return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
	}
	return "$'" + escaped(word) + "'"
}

// escaped writes a word between $' and ', where shells accept a byte as its number. All of it is visible, and a shell still reads the
// same word.
func escaped(word string) string {
	var b strings.Builder
	for len(word) > 0 {
		_, n := utf8.DecodeRuneInString(word)
		part := word[:n]
		word = word[n:]
		switch {
		case part == "'" || part == `\`:
			b.WriteString(`\` + part)
		case reports.Visible(part) == part:
			b.WriteString(part)
		default:
			for _, c := range []byte(part) {
				fmt.Fprintf(&b, `\%03o`, c)
			}
		}
	}
	return b.String()
}

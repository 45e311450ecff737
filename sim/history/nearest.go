package history

import (
	"errors"
	"fmt"
	"strings"

	"github.com/agnivade/levenshtein"
)

// Unknown returns the error for a word that is not among words: it lists them, and suggests the nearest. The noun, in the
// singular, says what they are.
func Unknown[S ~string](noun, word string, words []S) error {
	var all []string
	for _, w := range words {
		all = append(all, string(w))
	}
	msg := fmt.Sprintf("unknown %s %q; the %s are %s", noun, word, plural(noun), strings.Join(all, ", "))
	if len(all) == 1 {
		msg = fmt.Sprintf("unknown %s %q; the only %[1]s is %[3]s", noun, word, all[0])
	}
	if near := Nearest(word, all); near != "" {
		msg += fmt.Sprintf(" (did you mean %q?)", near)
	}
	return errors.New(msg)
}

func plural(noun string) string {
	if stem, ok := strings.CutSuffix(noun, "xis"); ok {
		return stem + "xes"
	}
	if stem, ok := strings.CutSuffix(noun, "y"); ok {
		return stem + "ies"
	}
	if strings.HasSuffix(noun, "s") {
		return noun + "es"
	}
	return noun + "s"
}

// Nearest returns the word of which the given one is most likely a misspelling, or "" if more than one letter in three would have
// to change. For words of one or two letters, such as n6, it does not guess.
func Nearest(word string, words []string) string {
	if len(word) < 3 || len(word) > 64 { // a misspelling is never that long, and the distance takes time in proportion
		return ""
	}
	nearest, least := "", (len([]rune(word))+2)/3+1
	for _, w := range words {
		if d := levenshtein.ComputeDistance(strings.ToLower(word), strings.ToLower(w)); d < least {
			nearest, least = w, d
		}
	}
	return nearest
}

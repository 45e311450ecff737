package script

import "strings"

// A form is how a line is written, such as "acquire [for DURATION] [within DURATION [every DURATION]] [cancelled after DURATION]". Words in capitals
// are placeholders. Brackets enclose what may be left out. Bars separate words, or phrases in parentheses, of which one is chosen.

// expand returns the sequences of words that a form allows.
func expand(form string) [][]string {
	all, _ := expandPart(strings.Fields(strings.NewReplacer("[", " [ ", "]", " ] ", "(", " ( ", ")", " ) ").Replace(form)))
	return all
}

// expandPart expands words up to the bracket that ends them, and returns how many words that were.
func expandPart(words []string) (all [][]string, n int) {
	all = [][]string{nil}
	for n = 0; n < len(words); n++ {
		var next [][]string
		switch word := words[n]; word {
		case "]", ")":
			return all, n
		case "[":
			part, used := expandPart(words[n+1:])
			next, n = append([][]string{nil}, part...), n+used+1
		case "(":
			end := n + 1
			for ; end < len(words) && words[end] != ")"; end++ {
			}
			for phrase := range strings.SplitSeq(strings.Join(words[n+1:end], " "), "|") {
				next = append(next, strings.Fields(phrase))
			}
			n = end
		default:
			for choice := range strings.SplitSeq(word, "|") {
				next = append(next, []string{choice})
			}
			if n+2 < len(words) && words[n+1] == "or" { // +DURATION or -DURATION
				next = append(next, []string{words[n+2]})
				n += 2
			}
		}
		all = followed(all, next)
	}
	return all, n
}

// followed returns each of some sequences followed by each of others.
func followed(all, next [][]string) [][]string {
	var longer [][]string
	for _, a := range all {
		for _, b := range next {
			longer = append(longer, append(append([]string{}, a...), b...))
		}
	}
	return longer
}

// isPlaceholder reports whether a word of a form stands for others.
func isPlaceholder(word string) bool {
	word = strings.TrimLeft(strings.TrimSuffix(word, "ppm"), "+-#")
	return word != "" && strings.ToUpper(word) == word
}

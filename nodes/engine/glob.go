package engine

import "strings"

// matches reports whether a text matches a pattern of PSUBSCRIBE, as stringmatchlen in redis-server's util.c does.
func matches(pattern, text string) bool {
	for pattern != "" && text != "" {
		switch pattern[0] {
		case '*':
			rest := strings.TrimLeft(pattern, "*")
			for i := range len(text) {
				if matches(rest, text[i:]) {
					return true
				}
			}
			return rest == ""
		case '?':
		case '[':
			var in bool
			if in, pattern = class(pattern[1:], text[0]); !in {
				return false
			}
		case '\\':
			if len(pattern) > 1 {
				pattern = pattern[1:]
			}
			fallthrough
		default:
			if pattern[0] != text[0] {
				return false
			}
		}
		pattern, text = pattern[1:], text[1:]
	}
	return text == "" && strings.TrimLeft(pattern, "*") == ""
}

// class reports whether a character is in the class with which a pattern starts, after the opening bracket. It also returns the
// rest of the pattern, from the closing bracket on. A class without one ends where the pattern does.
func class(pattern string, c byte) (in bool, last string) {
	not := strings.HasPrefix(pattern, "^")
	if not {
		pattern = pattern[1:]
	}
	last = "]"
	for pattern != "" && pattern[0] != ']' {
		n := 1
		switch {
		case pattern[0] == '\\' && len(pattern) >= 2:
			in, n = in || pattern[1] == c, 2
		case len(pattern) >= 3 && pattern[1] == '-':
			in, n = in || min(pattern[0], pattern[2]) <= c && c <= max(pattern[0], pattern[2]), 3
		default:
			in = in || pattern[0] == c
		}
		pattern = pattern[n:]
	}
	if pattern != "" {
		last = pattern
	}
	return in != not, last
}

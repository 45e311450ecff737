package history

import (
	"encoding/json"
	"fmt"
	"strings"
)

// Duplicate searches a text that is valid JSON for an object in which a field occurs twice. It returns the name of the field, and
// the position of its second occurrence. Package json silently keeps the last one, so a reader of the text and the program may
// see two different values.
//
// Package json ignores case in the names of fields, and so does Duplicate, with one exception: an object that is the value of a
// field is a map in everything that Lockstep reads, and the keys of a map are compared exactly.
func Duplicate(text []byte) (name string, at int, ok bool) {
	type object struct {
		names map[string]bool // nil: none yet
		isMap bool
	}
	var open []object // an array has no names
	inValue := false  // after a colon
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '{', '[':
			open = append(open, object{isMap: inValue && text[i] == '{'})
			inValue = false
		case '}', ']':
			open = open[:max(0, len(open)-1)]
			inValue = false
		case ',':
			inValue = false
		case ':':
			inValue = true
		case '"':
			start := i
			for i++; i < len(text) && text[i] != '"'; i++ {
				if text[i] == '\\' {
					i++
				}
			}
			end := min(i+1, len(text))
			if !isName(text[end:]) || len(open) == 0 {
				continue
			}
			s := string(text[start+1 : end-1])
			if strings.ContainsRune(s, '\\') {
				json.Unmarshal(text[start:end], &s) // which is valid
			}
			in, same := &open[len(open)-1], s
			if !in.isMap {
				same = strings.ToLower(strings.ToUpper(s))
			}
			if in.names[same] {
				return s, start, true
			}
			if in.names == nil {
				in.names = map[string]bool{}
			}
			in.names[same] = true
		}
	}
	return "", 0, false
}

// isName reports whether a string is the name of a field, by the text that follows it.
func isName(rest []byte) bool {
	for _, b := range rest {
		switch b {
		case ' ', '\t', '\r', '\n':
		default:
			return b == ':'
		}
	}
	return false
}

// OnlyOnce returns an error if there is a [Duplicate] in a text.
func OnlyOnce(text []byte) error {
	if name, _, ok := Duplicate(text); ok {
		return fmt.Errorf("the field %q occurs twice; each field must occur once", Shortened(name, 100))
	}
	return nil
}

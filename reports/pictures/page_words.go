package pictures

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"

	"lockstep/checker/explain"
	"lockstep/reports"
	"lockstep/sim/history"
)

// How much of what comes from outside is shown at once, in characters; the whole is there for who asks for it.
const (
	proseMost = 1500 // of what a scenario says of itself
	tellMost  = 600  // of a sentence of an explanation
	quoteMost = 60   // of a value or a name in it
)

// A pageProse is what a scenario says of itself: what one takes in at once, and the rest, to be unfolded.
type pageProse struct {
	Open, Folded []string // paragraphs
}

// foldProse takes prose apart, and folds what is too much.
func foldProse(s string) pageProse {
	var p pageProse
	room := proseMost
	for _, whole := range paragraphs(named(s)) {
		n := utf8.RuneCountInString(whole)
		switch {
		case len(p.Folded) > 0, n > room && room < proseMost/10:
			p.Folded = append(p.Folded, whole)
		case n <= room:
			p.Open, room = append(p.Open, whole), room-n
		default:
			head := atWord(whole, room)
			p.Open, p.Folded = append(p.Open, head+" …"), append(p.Folded, "… "+strings.TrimSpace(whole[len(head):]))
		}
	}
	return p
}

// Rest counts the characters that are folded.
func (p pageProse) Rest() int { return utf8.RuneCountInString(strings.Join(p.Folded, "")) }

// atWord is the beginning of s up to the last word that ends within max characters, or max characters of a word that does not.
func atWord(s string, max int) string {
	end := 0 // in bytes
	for n := 0; n < max; n++ {
		_, size := utf8.DecodeRuneInString(s[end:])
		end += size
	}
	if space := strings.LastIndex(s[:end], " "); space >= 0 {
		end = space
	}
	return s[:end]
}

// A pageSentence is a sentence of an explanation.
type pageSentence struct {
	Text   string `json:"text"`
	Whole  string `json:"whole,omitempty"` // where Text is cut
	Events []int  `json:"events"`
}

// tellable makes a sentence fit to be read: long values and names in it are cut, so that what is said of them is not lost behind
// them.
func tellable(h *history.History, s explain.Sentence) pageSentence {
	var long []string
	for _, i := range s.Events {
		if i < 0 || i >= len(h.Events) {
			continue
		}
		e := &h.Events[i]
		for _, quoted := range []string{e.Value, e.Error, e.Word, e.Process, e.By, e.Lease, e.Key, e.Owner} {
			if utf8.RuneCountInString(quoted) > quoteMost {
				long = append(long, quoted)
			}
		}
	}
	slices.SortFunc(long, func(a, b string) int { return cmp.Compare(len(b), len(a)) }) // one may be in another
	text := s.Text
	for _, quoted := range long {
		text = strings.ReplaceAll(text, quoted, reports.Printable(quoted, quoteMost))
	}
	told := pageSentence{Text: reports.Printable(text, tellMost), Whole: reports.Printable(s.Text, valueMost), Events: s.Events}
	if told.Whole == told.Text {
		told.Whole = ""
	}
	return told
}

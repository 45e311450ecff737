package explorer

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"

	"lockstep/checker/explain"
	"lockstep/docs"
	"lockstep/reports"
	"lockstep/sim/history"
)

// How much external text is shown at once, in characters. The whole can be unfolded.
const (
	proseMost = 1500 // of the story of a scenario
	tellMost  = 600  // of a sentence of an explanation
	quoteMost = 60   // of a value or a name in it
)

// A pageProse is the story of a scenario: the beginning, and the rest, which can be unfolded.
type pageProse struct {
	Open, Folded []string // paragraphs
}

// foldProse splits prose into paragraphs, and folds those beyond the limit.
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

// atWord returns the beginning of s up to the last word that ends within max characters, or exactly max characters if there is none.
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
	Whole  string `json:"whole,omitempty"` // if Text is cut
	Events []int  `json:"events"`
}

// Told returns a sentence as a page shows it.
func Told(h *history.History, s explain.Sentence) string { return tellable(h, s).Text }

// tellable makes a sentence readable: long values and names are cut, so that they do not hide what is said about them.
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
	slices.SortFunc(long, func(a, b string) int { return cmp.Compare(len(b), len(a)) }) // longest first: one may contain another
	text := s.Text
	for _, quoted := range long {
		text = strings.ReplaceAll(text, quoted, reports.Printable(quoted, quoteMost))
	}
	as := pageSentence{Text: reports.Printable(text, tellMost), Whole: reports.Printable(s.Text, valueMost), Events: s.Events}
	if as.Whole == as.Text {
		as.Whole = ""
	}
	return as
}

// named replaces the keys of sources without an address by their titles. A reader could not look up such a key.
func named(s string) string {
	for _, source := range docs.Sources() {
		if source.Retold {
			s = strings.ReplaceAll(s, source.Key, source.Name)
		}
	}
	return s
}

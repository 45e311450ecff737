package pictures

import (
	"strings"

	"lockstep/docs"
	"lockstep/scenarios/claims"
)

// A debateNote is a source, at the end of the chapter.
type debateNote struct {
	Number int
	claims.Voice
	Refs []string
}

// Cited is the text and the place in it, as a sentence.
func (n *debateNote) Cited() string {
	cited := n.Source.Name
	if n.Quoted {
		cited = "as quoted in " + cited
	}
	if n.Place != "" {
		cited += ": " + n.Place
	}
	if strings.HasSuffix(cited, "?") {
		return cited
	}
	return cited + "."
}

// named replaces the keys of texts in s that have no address, which are of no use to a reader, by their titles.
func named(s string) string {
	for _, source := range docs.Sources() {
		if source.Retold {
			s = strings.ReplaceAll(s, source.Key, source.Name)
		}
	}
	return s
}

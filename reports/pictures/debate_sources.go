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

// Cited names the text and the place in it, with a full stop.
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

// named replaces the keys of sources without an address by their titles. A reader could not look up such a key.
func named(s string) string {
	for _, source := range docs.Sources() {
		if source.Retold {
			s = strings.ReplaceAll(s, source.Key, source.Name)
		}
	}
	return s
}

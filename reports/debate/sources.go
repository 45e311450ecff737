package debate

import (
	"strings"

	"lockstep/scenarios/claims"
)

// A note is a source, at the end of the chapter.
type note struct {
	Number int
	claims.Voice
	Refs []string
}

// Cited names the text and the place in it, with a full stop.
func (n *note) Cited() string {
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

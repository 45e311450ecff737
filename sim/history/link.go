package history

import (
	"fmt"
	"strings"
)

// Link is the network between two processes: one direction of it, or both. The zero Link stands for all links.
type Link struct {
	From, To string
	Both     bool
}

// String prints a link as c1-n4 (both ways) or c1->n4, and the zero Link as nothing.
func (l Link) String() string {
	switch {
	case l == Link{}:
		return ""
	case l.Both:
		return l.From + "-" + l.To
	default:
		return l.From + "->" + l.To
	}
}

// Covers reports whether a message from one process to another travels on l.
func (l Link) Covers(from, to string) bool {
	return l == Link{} ||
		l.From == from && l.To == to ||
		l.Both && l.From == to && l.To == from
}

func parseLink(s string) (Link, error) {
	l := Link{}
	var ok bool
	if l.From, l.To, ok = strings.Cut(s, "->"); !ok {
		l.From, l.To, l.Both = strings.Cut(s, "-")
	}
	if !ok && !l.Both {
		return Link{}, fmt.Errorf("%q is not a link; write c1-n4 for both directions, c1->n4 for one", s)
	}
	for _, end := range []string{l.From, l.To} {
		if err := CheckName(end); err != nil {
			return Link{}, fmt.Errorf("in link %q: %w", s, err)
		}
	}
	if l.From == l.To {
		return Link{}, fmt.Errorf("link %q has one end; a link joins two processes", s)
	}
	return l, nil
}

// Package docs reads the table of sources in this directory, in which the keys of citations are looked up.
package docs

import (
	_ "embed"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// A Source is a text that claims, scenarios and code cite: a row of sources.md.
type Source struct {
	Key  string
	Name string   // author, title and year, such as: Redis documentation, “EXPIRE”
	URLs []string // its address, or else the addresses of what it is based on
	// Retold says that the text has no address of its own, and is based on what is at the URLs.
	Retold bool
}

//go:embed sources.md
var page string

var sources = sync.OnceValue(func() []*Source {
	all, err := parse(page)
	if err != nil {
		panic("docs: " + err.Error())
	}
	return all
})

// Sources returns the rows of sources.md, in the order of the table.
func Sources() []*Source { return slices.Clone(sources()) }

// Find returns the source with a key, or nil if there is none.
func Find(key string) *Source {
	for _, s := range sources() {
		if s.Key == key {
			return s
		}
	}
	return nil
}

// parse reads the rows of the page. The title of a text is what is linked or stressed in the second column, and is quoted in its name.
func parse(page string) ([]*Source, error) {
	var (
		row      = regexp.MustCompile("^\\| `([a-z0-9-]+)` \\| ([^|]+) \\| ([^|]*) ?\\|$")
		linked   = regexp.MustCompile(`\[\*?([^\]]*?)\*?\]\((https?://[^)\s]+)\)`)
		stressed = regexp.MustCompile(`\*([^*]+)\*`)
		keyed    = regexp.MustCompile("`([a-z0-9-]+)`")
	)
	var all []*Source
	byKey := map[string]*Source{}
	number := 0
	for line := range strings.Lines(page) {
		number++
		line = strings.TrimRight(line, "\r\n")
		if !strings.HasPrefix(line, "| `") {
			continue
		}
		fail := func(format string, args ...any) error {
			return fmt.Errorf("docs/sources.md:%d: %w", number, fmt.Errorf(format, args...))
		}
		m := row.FindStringSubmatch(line)
		if m == nil {
			return nil, fail("a row must be | `KEY` | TEXT | NOTES |, with a key of small letters, digits and hyphens")
		}
		s := &Source{Key: m[1]}
		if byKey[s.Key] != nil {
			return nil, fail("there must be only one row with the key %s", s.Key)
		}
		for _, link := range linked.FindAllStringSubmatch(m[2], -1) {
			s.URLs = append(s.URLs, link[2])
		}
		s.Name = stressed.ReplaceAllString(linked.ReplaceAllString(m[2], "“$1”"), "“$1”")
		if len(s.URLs) == 0 {
			s.Retold = true
			_, based, _ := strings.Cut(m[3], "Based on ")
			for _, key := range keyed.FindAllStringSubmatch(based, -1) {
				if byKey[key[1]] == nil {
					return nil, fail("%s must stand in a row above this one", key[1])
				}
				s.URLs = append(s.URLs, byKey[key[1]].URLs...)
			}
		}
		if len(s.URLs) == 0 {
			return nil, fail("a text must have a link, or a note that ends with: Based on `KEY`")
		}
		all, byKey[s.Key] = append(all, s), s
	}
	return all, nil
}

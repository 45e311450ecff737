package pictures

import (
	"fmt"
	"strings"

	"lockstep/reports"
)

// A debateSource is where a claim is made.
type debateSource struct {
	Who  string
	Text *sourceText
	Part string // section, or empty
	Said bool   // it quotes somebody else
}

// A sourceText is a text that claims and scenarios cite. Pages name it by author and title, so that a reader can find it, and not by
// its name in the catalogue.
type sourceText struct {
	cited  string   // what a citation begins with
	Name   string   // author, title and date
	short  string   // the same in the middle of a sentence
	URLs   []string // its address, or else the addresses of what it is based on
	Retold bool     // it has no address of its own, and retells what is at the URLs
}

const (
	kleppmannURL         = "https://martin.kleppmann.com/2016/02/08/how-to-do-distributed-locking.html"
	antirezURL           = "http://antirez.com/news/101"
	redisURL             = "https://redis.io/docs/latest/develop/clients/patterns/distributed-locks/"
	redisTransactionsURL = "https://redis.io/docs/latest/develop/using-commands/transactions/"
	ddiaURL              = "https://dataintensive.net/"
)

// sourceTexts are those of docs/sources.md.
var sourceTexts = []*sourceText{
	{`"How to do distributed locking" (2016)`, "Martin Kleppmann, “How to do distributed locking”, 8 February 2016", "",
		[]string{kleppmannURL}, false},
	{`"Is Redlock safe?" (2016)`, "Salvatore Sanfilippo (antirez), “Is Redlock safe?”, 9 February 2016", "",
		[]string{antirezURL}, false},
	{`"Designing Data-Intensive Applications" (2nd edition, 2026)`, "Martin Kleppmann and Chris Riccomini, “Designing Data-Intensive Applications”, 2nd edition, O’Reilly, 2026", "",
		[]string{ddiaURL}, false},
	{`"Distributed Locks with Redis"`, "Redis documentation, “Distributed Locks with Redis”", "",
		[]string{redisURL}, false},
	{"anon2023", "Anonymous, “Redis distributed locks”, questions and answers in Chinese, 2023",
		"“Redis distributed locks” (2023, in Chinese)", []string{redisURL}, true},
	{"nemo2018", "nemo20, “Implementing distributed locks with Redis”, experiments in PHP, in Chinese, 2018",
		"nemo20, “Implementing distributed locks with Redis” (2018, in Chinese)", []string{redisTransactionsURL, redisURL}, true},
	{"why2020", "“why”, “The story of asking for the hammer”, on Redlock and the whole argument, in Chinese, 2020",
		"“why”, “The story of asking for the hammer” (2020, in Chinese)", []string{redisURL, kleppmannURL, antirezURL}, true},
	{"anon-setnx", "Anonymous, “The right way to implement Redis locks”, in Chinese, undated",
		"“The right way to implement Redis locks” (in Chinese)", []string{redisURL}, true},
	{"anon-redlock", "Anonymous, “The Redlock algorithm”, a translation into Chinese, undated",
		"“The Redlock algorithm” (a translation into Chinese)", []string{redisURL}, true},
}

// Cited is the text and the place in it, as a sentence.
func (s debateSource) Cited() string {
	cited := s.Text.Name
	if s.Said {
		cited = "as quoted in " + cited
	}
	if s.Part != "" {
		cited += ": " + s.Part
	}
	if strings.HasSuffix(cited, "?") {
		return cited
	}
	return cited + "."
}

// debateVoices maps the voices of the claims to the names that the article uses.
var debateVoices = map[string]string{
	"Kleppmann": "Martin Kleppmann", "antirez": "antirez", "Kleppmann and Riccomini": "Martin Kleppmann and Chris Riccomini",
	"redis.io": "the Redis documentation", "the documents": "tutorials",
}

// debateSourceOf finds the text that a voice cites.
func debateSourceOf(v DebateVoice) (debateSource, error) {
	who := debateVoices[v.Who]
	if who == "" {
		return debateSource{}, fmt.Errorf("nobody is known as %q", v.Who)
	}
	where, quoted := strings.CutPrefix(v.Where, "as quoted in ")
	for _, text := range sourceTexts {
		if rest, ok := strings.CutPrefix(where, text.cited); ok {
			return debateSource{who, text, reports.Printable(strings.TrimPrefix(rest, ", "), debateTextMost), quoted}, nil
		}
	}
	return debateSource{}, fmt.Errorf("%s cites %q, which is not among the sources", v.Who, v.Where)
}

// named replaces the catalogue's names of texts in s, which are of no use to a reader, by their titles.
func named(s string) string {
	for _, text := range sourceTexts {
		if text.Retold {
			s = strings.ReplaceAll(s, text.cited, text.short)
		}
	}
	return s
}

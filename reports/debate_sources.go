package reports

import (
	"fmt"
	"strings"
)

// A debateSource is where a claim is made.
type debateSource struct {
	Who  string
	What string // author, title and date
	Part string // section, or empty
	URL  string // or empty
	File string // the name under which a text without an address was collected, or empty
}

// Cited is the text and the place in it, as a sentence.
func (s debateSource) Cited() string {
	cited := s.What
	if s.Part != "" {
		cited += ": " + s.Part
	}
	if strings.HasSuffix(cited, "?") {
		return cited
	}
	return cited + "."
}

// debateVoices say how the article calls those who speak.
var debateVoices = map[string]string{
	"Kleppmann": "Martin Kleppmann", "antirez": "antirez", "redis.io": "the Redis documentation", "the documents": "tutorials",
}

// debateSources are the texts that claims cite, by what a citation begins with.
var debateSources = []struct{ prefix, what, url string }{
	{`"How to do distributed locking" (2016)`, "Martin Kleppmann, “How to do distributed locking”, 8 February 2016",
		"https://martin.kleppmann.com/2016/02/08/how-to-do-distributed-locking.html"},
	{`"Is Redlock safe?" (2016)`, "Salvatore Sanfilippo (antirez), “Is Redlock safe?”, 9 February 2016",
		"http://antirez.com/news/101"},
	{`"Distributed Locks with Redis"`, "Redis documentation, “Distributed Locks with Redis”",
		"https://redis.io/docs/latest/develop/clients/patterns/distributed-locks/"},
	{"000_d5a3169f29a5fb5d.txt", "“Redis distributed locks”, questions and answers (in Chinese, 2023)", ""},
	{"001_b66eeaed0a01f22e.txt", "“Implementing distributed locks with Redis”, experiments in PHP (in Chinese)", ""},
	{"002_f1b5c80bdb6cfae4.txt", "“The story of asking for the hammer”, on Redlock and the whole argument (in Chinese, 2020)", ""},
	{"003_9f8f117e5abbaff8.txt", "“The right way to implement Redis locks” (in Chinese)", ""},
	{"004_751156ed7355e17b.txt", "“The Redlock algorithm”, a translation of the Redis documentation (in Chinese)", ""},
}

// debateSourceOf finds the text that a voice cites.
func debateSourceOf(v DebateVoice) (debateSource, error) {
	who := debateVoices[v.Who]
	if who == "" {
		return debateSource{}, fmt.Errorf("nobody is known as %q", v.Who)
	}
	where, quoted := strings.CutPrefix(v.Where, "as quoted in ")
	for _, s := range debateSources {
		rest, ok := strings.CutPrefix(where, s.prefix)
		if !ok {
			continue
		}
		found := debateSource{Who: who, What: s.what, Part: printable(strings.TrimPrefix(rest, ", "), debateTextMost), URL: s.url}
		if s.url == "" {
			found.File = s.prefix
		}
		if quoted {
			found.What = "as quoted in " + found.What
		}
		return found, nil
	}
	return debateSource{}, fmt.Errorf("%s cites %q, which is not among the sources", v.Who, v.Where)
}

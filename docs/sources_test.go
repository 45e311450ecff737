package docs

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// What is cited by a key is in sources.md by that key, each text without an address is cited somewhere, and nothing is cited by the
// name of a file that only those have who collected it.
func TestSources(t *testing.T) {
	var known []string
	uncited := map[string]bool{}
	for _, s := range Sources() {
		known, uncited[s.Key] = append(known, s.Key), s.Retold
	}
	var (
		named    = regexp.MustCompile(`\b(?:(?:anon|nemo|why|kleppmann|antirez|ddia|evans|burckhardt|alvaro|ozkan|steele)20[0-9]{2}|anon-[a-z]+)\b`)
		numbered = regexp.MustCompile(`\b[0-9]{3}_[0-9a-f]{16}\b`)
		text     = []string{".go", ".md", ".txt", ".txtar", ".html"}
	)
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == ".git" || d.Name() == "out"):
			return fs.SkipDir
		case d.IsDir() || !slices.Contains(text, filepath.Ext(path)) || strings.HasPrefix(d.Name(), "sources"):
			return nil
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, name := range named.FindAllString(string(data), -1) {
			if !slices.Contains(known, name) {
				t.Errorf("%s cites %s, which docs/sources.md does not know", path, name)
			}
			delete(uncited, name)
		}
		if name := numbered.FindString(string(data)); name != "" {
			t.Errorf("%s cites %s, the name of a file", path, name)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for key, retold := range uncited {
		if retold {
			t.Errorf("docs/sources.md has %s, which nobody cites", key)
		}
	}
}

// A row becomes a source with its name and its addresses.
func TestRows(t *testing.T) {
	for key, want := range map[string]Source{
		"antirez2016": {Name: "Salvatore Sanfilippo (antirez), “Is Redlock safe?”, 9 February 2016",
			URLs: []string{"http://antirez.com/news/101"}},
		"ddia2026": {Name: "Martin Kleppmann and Chris Riccomini, “Designing Data-Intensive Applications”, 2nd edition, O’Reilly, 2026",
			URLs: []string{"https://dataintensive.net/"}},
		"nemo2018": {Name: "nemo20, “Implementing distributed locks with Redis” (2018, in Chinese)",
			URLs: slices.Concat(Find("redis-transactions").URLs, Find("redis-distlock").URLs), Retold: true},
	} {
		s := Find(key)
		if s == nil || s.Name != want.Name || !slices.Equal(s.URLs, want.URLs) || s.Retold != want.Retold {
			t.Errorf("%s is %+v, want %+v", key, s, want)
		}
	}
	if s := Find("antirez2017"); s != nil {
		t.Errorf("there is no antirez2017, and it was found: %+v", s)
	}
}

// An error in the page has its line, and says what is required.
func TestRowErrors(t *testing.T) {
	const head = "# Sources\n\n| key | text | notes |\n|---|---|---|\n| `a2020` | A, [T](https://a.example/), 2020 | |\n"
	if all, err := parse(head + "| `b` | *U* (in Chinese) | Old. Based on `a2020` |\r\n"); err != nil || len(all) != 2 || all[1].URLs[0] != "https://a.example/" {
		t.Errorf("%+v, %v", all, err)
	}
	for row, want := range map[string]string{
		"| `b` | *U* |":                       "docs/sources.md:6: a row must be | `KEY` | TEXT | NOTES |",
		"| `B` | *U* | |":                     "docs/sources.md:6: a row must be | `KEY` | TEXT | NOTES |, with a key of small letters",
		"| `a2020` | [U](https://u.org/) | |": "docs/sources.md:6: there must be only one row with the key a2020",
		"| `b` | *U* | |":                     "docs/sources.md:6: a text must have a link, or a note that ends with: Based on `KEY`",
		"| `b` | *U* | Based on `c` |":        "docs/sources.md:6: c must stand in a row above this one",
	} {
		if _, err := parse(head + row + "\n"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", row, err, want)
		}
	}
}

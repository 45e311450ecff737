package scenarios

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
)

// What is cited by a name is in docs/sources.md by that name, each name there is cited somewhere or stands for a text with an
// address, and nothing is cited by the name of a file that only those have who collected it.
func TestSources(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "docs", "sources.md"))
	if err != nil {
		t.Fatal(err)
	}
	var known []string
	unlinked := map[string]bool{}
	for _, m := range regexp.MustCompile("(?m)^\\| `([a-z0-9-]+)` \\| (.*) \\|$").FindAllStringSubmatch(string(page), -1) {
		known = append(known, m[1])
		unlinked[m[1]] = !regexp.MustCompile(`\]\(https?://`).MatchString(m[2])
	}
	if len(known) == 0 {
		t.Fatal("docs/sources.md names no sources")
	}
	var (
		named    = regexp.MustCompile(`\b(?:(?:anon|nemo|why|kleppmann|antirez|ddia|evans|burckhardt|groce|ozkan|steele)20[0-9]{2}|anon-[a-z]+)\b`)
		numbered = regexp.MustCompile(`\b[0-9]{3}_[0-9a-f]{16}\b`)
		text     = []string{".go", ".md", ".txtar", ".html"}
	)
	err = filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == ".git" || d.Name() == "out"):
			return fs.SkipDir
		case d.IsDir() || !slices.Contains(text, filepath.Ext(path)) || filepath.Base(path) == "sources.md":
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
			delete(unlinked, name)
		}
		if name := numbered.FindString(string(data)); name != "" {
			t.Errorf("%s cites %s, the name of a file", path, name)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, without := range unlinked {
		if without {
			t.Errorf("docs/sources.md has %s, which nobody cites", name)
		}
	}
}

package scenarios

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"lockstep/clients"
	"lockstep/scenarios/claims"
	"lockstep/scenarios/script"
)

// docs/documents.md names claims and runs that exist.
func TestDocuments(t *testing.T) {
	text, err := os.ReadFile("../docs/documents.md")
	if err != nil {
		t.Fatal(err)
	}
	argument, err := claims.Load()
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`claims? (\d+[ab]?(?:(?:, | and | to )\d+[ab]?)*)`).FindAllStringSubmatch(string(text), -1) {
		for _, id := range regexp.MustCompile(`\d+[ab]?`).FindAllString(m[1], -1) {
			if !slices.ContainsFunc(argument.Claims, func(c claims.Claim) bool { return c.ID == id }) {
				t.Errorf("there is no claim %s: %s", id, m[0])
			}
		}
	}
	named := 0
	for _, m := range regexp.MustCompile("`([a-z0-9-]+)((?:/[a-z0-9-]+)*)`").FindAllStringSubmatch(string(text), -1) {
		if _, err := clients.Find(m[1]); err == nil && m[2] == "" {
			continue // a lock
		}
		page, err := script.Find(m[1])
		if err == nil && m[2] != "" {
			_, err = page.FindRun(strings.TrimPrefix(m[2], "/"))
		}
		if err != nil {
			t.Errorf("%s: %v", m[0], err)
		}
		named++
	}
	if named < 50 {
		t.Errorf("only %d scenarios and runs are named", named)
	}
}

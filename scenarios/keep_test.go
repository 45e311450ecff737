package scenarios

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestFileName(t *testing.T) {
	for name, want := range map[string]string{
		"pause-fenced/fenced":                  "pause-fenced-fenced",
		"TestTable/bad_[lock]":                 "TestTable-bad_[lock]",
		`TestX/<a>:"b"|c?*\d`:                  "TestX-_a___b__c___d",
		"TestX/über":                           "TestX-_ber",
		strings.Repeat("x", 64):                strings.Repeat("x", 64),
		"TestX/" + strings.Repeat("long_", 60): "TestX-" + strings.Repeat("long_", 9) + "long-",
	} {
		got := fileName(name)
		if len(name) > longestName {
			if cut, ok := strings.CutPrefix(got, want); !ok || len(got) != longestName || len(cut) != 8 {
				t.Errorf("%s: %s", name, got)
			}
			continue
		}
		if got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	long := strings.Repeat("long_", 60)
	if fileName(long+"1") == fileName(long+"2") {
		t.Error("two names that differ at their ends have one file")
	}
}

// What a link leads to is renewed, and the link stays.
func TestReplaceFileThroughLink(t *testing.T) {
	there, here := t.TempDir(), t.TempDir()
	target, link := filepath.Join(there, "page.txtar"), filepath.Join(here, "page.txtar")
	if err := os.WriteFile(target, []byte("old"), 0o640); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(target, link); err != nil {
		t.Skip(err)
	}
	if err := replaceFile(link, []byte("new")); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Lstat(link); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link is now %v, %v", info.Mode(), err)
	}
	if data, err := os.ReadFile(target); err != nil || string(data) != "new" {
		t.Errorf("the file has %q, %v", data, err)
	}
	for _, dir := range []string{there, here} {
		if left, _ := os.ReadDir(dir); len(left) != 1 {
			t.Errorf("%s has %v", dir, left)
		}
	}
}

package scenarios

import (
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

package history_test

import (
	"strings"
	"testing"

	"lockstep/sim/history"
)

func TestNearest(t *testing.T) {
	words := []string{"pause", "resume", "restart", "reset", "cut"}
	for word, want := range map[string]string{
		"puase":                     "pause",
		"PAUSE":                     "pause",
		"restrat":                   "restart",
		"rset":                      "reset",
		"cat":                       "cut",
		"c":                         "",
		"":                          "",
		"explode":                   "",
		strings.Repeat("pause", 99): "",
	} {
		if got := history.Nearest(word, words); got != want {
			t.Errorf("Nearest(%q) = %q, want %q", word, got, want)
		}
	}
}

func TestUnknown(t *testing.T) {
	for _, c := range []struct{ noun, word, want string }{
		{"lock", "singel", `unknown lock "singel"; the locks are redlock, single (did you mean "single"?)`},
		{"property", "x", `unknown property "x"; the properties are redlock, single`},
		{"axis", "x", `unknown axis "x"; the axes are redlock, single`},
		{"process", "x", `unknown process "x"; the processes are redlock, single`},
	} {
		if got := history.Unknown(c.noun, c.word, []string{"redlock", "single"}).Error(); got != c.want {
			t.Errorf("got %s, want %s", got, c.want)
		}
	}
	if got, want := history.Unknown("pool", "hot", []string{"warm"}).Error(), `unknown pool "hot"; the only pool is warm`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

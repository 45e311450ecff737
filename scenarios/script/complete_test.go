package script

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"lockstep/sim/history"
)

const completed = `# A title.

ttl 10s
client c1
  acquire
  write A
client c2
  
nemesis
  

-- redlock nodes=3 --
expect 
`

func TestComplete(t *testing.T) {
	for _, test := range []struct {
		line   int
		before string
		want   string // completions, separated by commas; among others if it ends with ...
	}{
		{8, "  ", "acquire,check,enter,extend,increment,lock,pause,read,release,repeat,sleep,stay,until,update,write"},
		{8, "  re", "read,release,repeat"},
		{8, "  release ", "cancelled,oldest,again"},
		{8, "  release cancelled ", ""},
		{8, "  acquire ", "cancelled after,for,within"},
		{8, "  acquire within 5", "5s,5ms"},
		{8, "  acquire within 5s ", "cancelled after,every"},
		{8, "  repeat 3 ", "acquire,..."},
		{8, "  repeat 3 write ", "A"},
		{10, "  ", "at,crash,cut,delay,drift,follow,heal,hold,jump,on,pause,promote,release,reset,restart,resume,slew,stop,when"},
		{10, "  at 5s p", "pause,promote"},
		{10, "  at 5s pause ", "c1,c2,n1,n2,n3"},
		{10, "  at 5s pause c1 ", "1s,5s,15s,500ms"},
		{10, "  at 5s jump n1 ", "+1s,+5s,+15s,+500ms,-1s,..."},
		{10, "  cut c1-n", "c1-n1,c1-n2,c1-n3"},
		{10, "  cut c1->n", "c1->n1,c1->n2,c1->n3"},
		{10, "  when c1 acq", "acquires,acquired"},
		{10, "  when c1 pro", ""},
		{10, "  when n1 pro", "promoted"},
		{10, "  when n1 acq", ""},
		{10, "  when n1 se", "sets"},
		{10, "  when n1 sets ", "c1,c2"},
		{10, "  when c1 acquired c", "crash,cut"},
		{10, "  when c1 acquired ", "crash,cut,...,#2,..."},
		{10, "  when c1 acquired +1s crash n", "n1,n2,n3"},
		{10, "  on reply SET c1->n1 ", "delay,hold,reset"},
		{10, "  on reply SET c1->n1 hold ", ""},
		{12, "-- red", "redlock,redlock-sequential,redlock-wall,redlock-extend"},
		{12, "-- redlock n", "nodes="},
		{12, "-- redlock nodes=5 resource=f", "resource=fenced"},
		{13, "expect lease", "lease exclusion ok,lease exclusion violated,..."},
		{13, "expect lease exclusion ", "..."},
		{3, "must c1 resumes after its", "its lease ended,its keys ended"},
		{3, "must c1 resumes after its lease", "lease ended"},
		{3, "must c1 wa", "waits for"},
		{3, "cl", "client"},
		{3, "client ", "c3"},
		{999, "  acq", ""},
		{0, "", "..."},
	} {
		var got []string
		for _, c := range Complete(completed, test.line, test.before) {
			got = append(got, c.Text)
		}
		want := strings.Split(test.want, ",")
		open := slices.Contains(want, "...")
		want = slices.DeleteFunc(want, func(w string) bool { return w == "..." || w == "" })
		missing := slices.DeleteFunc(slices.Clone(want), func(w string) bool { return slices.Contains(got, w) })
		if len(missing) > 0 || !open && len(got) != len(want) {
			t.Errorf("line %d, %q: got %v, want %v", test.line, test.before, got, test.want)
		}
	}
}

// Whatever the file and the place, Complete returns, and each completion continues the last word.
func TestCompleteAnything(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		file, before := rapid.String().Draw(t, "file"), rapid.StringOf(rapid.SampledFrom([]rune(" -abcw1n#+>=[\u00e9"))).Draw(t, "before")
		words := strings.Split(before, " ")
		for _, c := range Complete(file, rapid.IntRange(-3, 100).Draw(t, "line"), before) {
			if !strings.HasPrefix(c.Text, words[len(words)-1]) {
				t.Fatalf("%q completes %q", c.Text, before)
			}
		}
	})
}

// The steps of the catalogue, cut off anywhere, are completed with what they have there, unless that is a name or a number.
func TestCompleteCatalogue(t *testing.T) {
	all, err := Catalogue()
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, s := range all {
		file := s.Edited(func(s *Scenario) {
			for i := range s.Runs {
				s.Runs[i].Golden = ""
			}
		}).String()
		for n, line := range strings.Split(file, "\n") {
			if !strings.HasPrefix(line, "  ") || !isStep(line) || seen[line] {
				continue
			}
			seen[line] = true
			words := strings.Fields(line)
			for i, w := range words {
				if slices.ContainsFunc([]rune(w), func(r rune) bool { return r < 'a' || r > 'z' }) || slices.Contains([]string{"lock", "write", "update", "writes", "wrote", "updates", "updated"}, words[max(i-1, 0)]) {
					continue
				}
				before := "  " + strings.Join(append(slices.Clone(words[:i]), w[:1]), " ")
				if all := Complete(file, n+1, before); !slices.ContainsFunc(all, func(c Completion) bool { return c.Text == w || strings.HasPrefix(c.Text, w+" ") }) {
					t.Errorf("%s:%d: %q is completed with %v, but not with %s", s.Name, n+1, before, all, w)
				}
			}
		}
	}
	if forms := history.FaultForms(); len(forms) != len(history.FaultVerbs()) {
		t.Error(forms)
	}
}

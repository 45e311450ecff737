package explain

import (
	"slices"
	"strings"
	"testing"

	"lockstep/checker"
	"lockstep/checker/facts"
	"lockstep/checker/internal/handmade"
)

// Explanations of a value that somebody replaced, and of a mark.
func TestExplainWrites(t *testing.T) {
	for _, c := range []struct {
		name     string
		property checker.Property
		story    string
		want     string
	}{
		{"an empty value", checker.NoLostUpdate, handmade.Overtaken + handmade.Overtaker + "15 c1 invoke update A c1#1\n" + handmade.Overwrites,
			"c1 had read the value at 0.400s, when it was empty."},
		{"a plain write goes by nothing that was read", checker.NoLostUpdate, handmade.Overtaken + handmade.Overtaker + "15 c1 invoke write A c1#1\n15.003 resource accept A c1#1 sent=15.001",
			"c1 wrote `A` at 15.003s, without B: the update was lost."},
		{"a rival that wrote nothing", checker.NoLostUpdate, handmade.Released + "4 c2 invoke acquire\n4.1 n1 set c2#1\n4.2 c2 ok acquire c2#1 until=14\n14.1 n1 expire c2#1\n15 c3 invoke acquire\n15.1 n1 set c3#1\n15.2 c3 ok acquire c3#1 until=25\n16 c2 invoke write Z c2#1\n16.1 resource accept Z c2#1 sent=16",
			"c3 was granted c3#1 on n1 at "},
		{"replaced, restored, and lost", checker.NoLostUpdate, handmade.Released + `
			3    resource accept Z c1#1
			4    resource accept Z_A word=A c1#1
			11   c2 invoke acquire
			12   n1 set c2#1
			12.1 c2 ok acquire c2#1 until=22
			13   resource accept Y c1#1 sent=13`,
			"c1 wrote `Y` at 13.000s, without A: the update was lost."},
		{"an entry", checker.ResourceExclusion, handmade.Overtaken + handmade.Overtaker + "12.5 c2 invoke enter c2#1\n12.6 resource mark c2#1\n12.7 c2 ok enter\n15 c1 invoke enter c1#1\n15.003 resource mark c1#1 sent=15",
			"At 15.003s the resource accepted the mark of c1#1, though c2#1 was the newer lease: from now on it refuses what c2 writes."},
		{"the first entry", checker.ResourceExclusion, handmade.Overtaken + handmade.Overtaker + "15 c1 invoke enter c1#1\n15.003 resource mark c1#1 sent=15",
			"At 15.003s the resource accepted the mark of c1#1, though c2#1 was the newer lease."},
	} {
		h := handmade.History(t, c.story)
		var told []Sentence
		for _, v := range checker.Check(facts.Of(h), nil).Violations {
			if v.Property == c.property {
				told = Story(facts.Of(h), v)
				checkExplanation(t, h, v, told)
			}
		}
		if !slices.ContainsFunc(told, func(s Sentence) bool { return strings.HasPrefix(s.Text, c.want) }) {
			t.Errorf("%s: %q is not told:\n%v", c.name, c.want, told)
		}
		if slices.ContainsFunc(told, func(s Sentence) bool { return strings.Contains(s.Text, "had read") }) != (c.name == "an empty value") {
			t.Errorf("%s: what was read is told, or not:\n%v", c.name, told)
		}
	}
}

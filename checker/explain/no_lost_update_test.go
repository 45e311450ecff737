package explain

import (
	"strings"
	"testing"
)

// TestStored: which event shows that an increment wrote its number.
func TestStored(t *testing.T) {
	const invoke, ok = "1 c1 invoke increment\n", "3 c1 ok increment 5"
	for _, test := range []struct {
		name, story string
		want        int
	}{
		{"its change", invoke + "2 resource set 5 by=c1\n" + ok, 1},
		{"its command, which changed nothing", invoke + "2 resource deliver c1 SET_counter_5\n" + ok, 1},
		{"a command with options", invoke + "2 resource deliver c1 MULTI;_SET_counter_5;_EXEC\n" + ok, 1},
		{"a command with another number", invoke + "2 resource deliver c1 SET_counter_55\n" + ok, 2},
		{"its change, and a late one of an increment that it had given up", invoke + "2 resource set 5 by=c1\n2.5 resource over 4 by=c1 sent=0.5\n" + ok, 1},
		{"a change of another", invoke + "2 resource set 5 by=c2\n" + ok, 2},
		{"a change before it", "0 resource set 5 by=c1\n" + invoke + ok, 2},
		{"an outcome alone", "3 c1 ok increment 5 -", 0},
		{"a change, and an outcome alone", "2 resource set 5 by=c1\n3 c1 ok increment 5 -", 0},
		{"a fault, and an outcome alone", "2 c1 fault jump\n3 c1 ok increment 5 -", 1},
	} {
		narrate(t, test.story, func(n *narrator) {
			if got := n.stored(len(n.f.Events) - 1); got != test.want {
				t.Errorf("%s: event %d, want %d", test.name, got, test.want)
			}
		})
	}
}

// TestLostWord: a word is lost with the first value that lacks it.
func TestLostWord(t *testing.T) {
	for story, want := range map[string]string{
		"1 resource accept A word=A by=c1\n2 resource accept A_B word=B by=c2":                                   "",
		"1 resource accept A word=A by=c1\n2 resource accept B word=B by=c2":                                     "c1 added A, and the value was `A` at 1.000s. c2 wrote `B` at 2.000s, without A: the update was lost.",
		"1 resource accept A word=A by=c1\n2 resource accept A_B word=B by=c2\n3 resource accept C word=C by=c3": "c1 added A, and the value was `A` at 1.000s. c3 wrote `C` at 3.000s, without A: the update was lost.",
	} {
		var lost bool
		if got := strings.Join(narrate(t, story, func(n *narrator) { lost = n.lostWord(0) }), " "); got != want || lost != (want != "") {
			t.Errorf("%s: lost %v, %q, want %q", story, lost, got, want)
		}
	}
}

// TestLostNumber: if no two increments wrote the same number, nothing is said, not even about the final number.
func TestLostNumber(t *testing.T) {
	const one = "1 c1 invoke increment\n2 resource set 1 by=c1\n3 c1 ok increment 1\n"
	if told := narrate(t, one, (*narrator).lostNumber); len(told) > 0 {
		t.Errorf("%q", told)
	}
	told := narrate(t, one+"3 c2 invoke increment\n4 resource over 1 by=c2\n5 c2 ok increment 1", (*narrator).lostNumber)
	if want := "In the end the number was 1, after 2 increments that were acknowledged."; len(told) == 0 || told[len(told)-1] != want {
		t.Errorf("%q, want %q at the end", told, want)
	}
}

// TestOverwrote: what is known of a second increment that wrote the same number.
func TestOverwrote(t *testing.T) {
	const (
		first  = "1 c1 invoke increment\n2 resource set 1 by=c1\n"
		second = "4 resource over 1 by=c2\n5 c1 ok increment 1\n"
		ok     = "5 c2 ok increment 1"
		before = ", at 4.000s: it had read the number before, and one of the two was lost."
		last   = "In the end the number was 1, after 2 increments that were acknowledged."
	)
	for _, test := range []struct{ name, story, want string }{
		{"it began before", "0 c2 invoke increment\n" + first + second + ok, "c1 wrote 1 at 2.000s.\nc2 began to increment the number at 0.000s.\nc2 wrote 1 as well" + before},
		{"it read before", "0 c2 invoke increment\n1 resource deliver c2 GET_counter\n" + first + second + ok,
			"c1 wrote 1 at 2.000s.\nc2 began to increment the number at 0.000s, and read it at 1.000s.\nc2 wrote 1 as well" + before},
		{"it read before it began", "0 resource deliver c2 GET_counter\n0 c2 invoke increment\n" + first + second + ok,
			"c1 wrote 1 at 2.000s.\nc2 began to increment the number at 0.000s.\nc2 wrote 1 as well" + before},
		{"it began after", first + "3 c2 invoke increment\n" + second + ok, "c1 wrote 1 at 2.000s.\nc2 wrote 1 as well, at 4.000s: one of the two was lost."},
		{"under a lease that was over", "0 c1 invoke acquire\n0.004 n1 set c1#1\n0.006 c1 ok acquire c1#1 until=10\n1 c1 invoke increment c1#1\n10.1 n1 expire c1#1\n" +
			"11 c2 invoke acquire\n11.004 n1 set c2#1\n11.006 c2 ok acquire c2#1 until=21\n12 c2 invoke increment c2#1\n13 resource set 1 by=c2\n14 c2 ok increment 1 c2#1\n15 resource over 1 by=c1\n16 c1 ok increment 1 c1#1",
			"c1 was granted c1#1 on n1 at 0.004s, valid until 10.000s by its own clock.\nThe key of c1#1 expired on n1 at 10.100s.\nc2 was granted c2#1 on n1 at 11.004s, valid until 21.000s by its own clock.\n" +
				"c2 wrote 1 at 13.000s.\nc1 began to increment the number at 1.000s.\nc1 wrote 1 as well, at 15.000s: it had read the number before, and one of the two was lost."},
		{"nobody knows when it began", first + second + "5 c2 ok increment 1 -", "c1 wrote 1 at 2.000s.\nc2 wrote 1 as well, at 4.000s: one of the two was lost."},
	} {
		lines := narrate(t, strings.ReplaceAll(test.story, "by=", "key=counter by="), (*narrator).lostNumber) // in the order in which they are found
		told(t, test.name, lines, test.want+"\n"+last)
	}
}

package checker

import (
	"strings"
	"testing"
)

func TestNoLostVote(t *testing.T) {
	const one = `
		0    c1 invoke acquire
		0.1  n1 set c1#1
		0.2  c1 ok acquire c1#1 until=9.9
	`
	const majority = `
		nodes 3
		0    c1 invoke acquire
		0.1  n1 set c1#1 sent=0.05
		0.1  n2 set c1#1 sent=0.05
		0.1  n3 set c1#1 sent=0.05
		0.2  c1 ok acquire c1#1 until=9.9
	`
	// An attempt with the same token got n1, and failed. Its clean-up is late.
	const again = `
		nodes 3
		0    c1 invoke acquire
		0.1  n1 set c1#1 sent=0.05
		0.2  n1 delete c1#1 sent=0.15
		0.3  n1 set c1#1 sent=0.25
		0.3  n2 set c1#1 sent=0.25
		0.3  n3 set c1#1 sent=0.25
	`
	const asked = `
		nodes 3
		0    c1 invoke acquire
		0.3  n1 deliver c1 sent=0.25 word=SET
		0.3  n1 set c1#1 sent=0.25
		0.3  n2 set c1#1 sent=0.25
		0.3  n3 set c1#1 sent=0.25
		0.32 n1 delete c1#1 sent=0.22
	`
	const slow = "0 c1 fault drift ppm=-5000\n0 c1 invoke acquire\n0.1 n1 set c1#1\n0.2 c1 ok acquire c1#1 until=9.9 clock=0.2\n1 c1 invoke extend c1#1 ttl=4 clock=0.995\n"
	const late = ", by a late command that had left before the one that set the key or its deadline [none]"
	testProperty(t, NoLostVote, []verdictCase{
		{name: "a key that is kept", story: majority},
		{name: "a release", story: majority + "3 c1 invoke release c1#1\n3.1 n1 delete c1#1 sent=3.05\n3.1 n2 delete c1#1 sent=3.05"},
		{name: "a release at the same instant", story: majority + "3 c1 invoke release c1#1\n3 n1 delete c1#1 sent=3"},
		{name: "a release that arrives after the next acquire of its client", story: majority + `
			3   c1 invoke release c1#1
			3.1 c1 info release c1#1
			4   c1 invoke acquire
			4.1 n2 set c1#2
			5   n1 delete c1#1 sent=3`},
		{name: "a deletion while the lease lasts", story: majority + "3 n1 delete c1#1 sent=2.9",
			want: []string{"c1 deleted its own key of c1#1 on n1 at 3.000s [none]"}},
		{name: "a deletion of the only key", story: one + "3 n1 delete c1#1",
			want: []string{"c1 deleted its own key of c1#1 on n1 at 3.000s [none]"}},
		{name: "a deletion after the lease has ended", story: majority + "9.95 n1 delete c1#1 sent=9.93"},
		{name: "a deletion when the lease ends", story: majority + "9.9 n1 delete c1#1 sent=9.8"},
		{name: "a deletion after the lease was reported as lost", story: majority + "3 c1 info lost c1#1\n3.1 n1 delete c1#1 sent=3"},
		{name: "a deletion that arrives after a crash", story: majority + "3 c1 fault crash\n3.1 n1 delete c1#1 sent=2.9"},
		{name: "a deletion by another, which owner only is about", story: majority + "3 n1 delete c1#1 by=c2"},
		{name: "a key whose time has come", story: majority + "8 n1 expire c1#1"},
		{name: "a key that is forgotten", story: majority + "3 n1 fault crash\n3 n1 lose c1#1"},
		{name: "an expiry is no command", story: majority + "3 n1 expire c1#1 by=c1"},
		{name: "the server itself", story: majority + "3 n1 delete c1#1 by=nobody"},
		{name: "a command that deletes and sets anew", story: majority + "3 n1 delete c1#1 sent=2.9\n3 n1 set c1#1 sent=2.9 until=13"},
		{name: "a deletion, and a command that sets anew", story: majority + "3 n1 delete c1#1 sent=2.9\n3 n1 set c1#1 sent=2.8 until=13",
			want: []string{"c1 deleted its own key of c1#1 on n1 at 3.000s [none]"}},
		{name: "a vote that came after the lease was returned", story: `
			nodes 3
			0    c1 invoke acquire
			0.1  n2 set c1#1 sent=0.05
			0.1  n3 set c1#1 sent=0.05
			0.2  c1 ok acquire c1#1 until=9.9
			3    n1 set c1#1 sent=0.05
			3.1  n1 delete c1#1 sent=3.05`},
		{name: "the same, but by an extension", story: `
			nodes 3
			0    c1 invoke acquire
			0.1  n2 set c1#1 sent=0.05
			0.1  n3 set c1#1 sent=0.05
			0.2  c1 ok acquire c1#1 until=9.9
			3    n1 set c1#1 sent=2.9
			3.1  n1 delete c1#1 sent=3.05`,
			want: []string{"c1 deleted its own key of c1#1 on n1 at 3.100s [none]"}},
		{name: "only the wrong clock of the client lets it rely on the lease", story: "0 c1 fault drift ppm=-100000\n" + majority + "10.5 n1 delete c1#1 sent=10.4"},
		{name: "an extension that shortens the life of the key, and then says that the lease is over", story: majority + "2 c1 invoke extend c1#1\n2.5 n1 retime c1#1 until=3.5 sent=2.4\n3 c1 fail extend c1#1 until=3"},
		{name: "it does not say so", story: majority + "2 c1 invoke extend c1#1\n2.5 n1 retime c1#1 until=3.5 sent=2.4\n3 c1 fail extend c1#1",
			want: []string{"c1 shortened the life of its own key of c1#1 on n1 at 2.500s [none]"}},
		{name: "an extension said that the lease is over", story: majority + "2 c1 invoke extend c1#1\n3 c1 fail extend c1#1 until=3\n3.1 n1 delete c1#1 sent=3"},
		{name: "an attempt that fails", story: "nodes 3\n0 c1 invoke acquire\n0.1 n1 set c1#1 sent=0.05\n0.2 n1 delete c1#1 sent=0.15\n0.3 c1 fail acquire"},
		{name: "a key that stands for no lease", story: majority + "1 n1 set key=other by=c1\n3 n1 delete key=other by=c1"},

		{name: "the next attempt with the same token", story: again + "0.4 c1 ok acquire c1#1 until=9.9"},
		{name: "the late clean-up of an attempt with the same token, which hits the next one", story: again + "0.35 n1 delete c1#1 sent=0.15\n0.4 c1 ok acquire c1#1 until=9.9",
			want: []string{"c1 deleted its own key of c1#1 on n1 at 0.350s" + late}},
		{name: "the same when the lease is held", story: again + "0.4 c1 ok acquire c1#1 until=9.9\n3 n1 delete c1#1 sent=0.15",
			want: []string{"c1 deleted its own key of c1#1 on n1 at 3.000s" + late}},
		{name: "the same when the lease is over", story: again + "0.4 c1 ok acquire c1#1 until=9.9\n9.95 n1 delete c1#1 sent=0.15"},
		{name: "the same if no attempt succeeds", story: again + "0.35 n1 delete c1#1 sent=0.15\n0.4 c1 fail acquire"},
		{name: "the late clean-up, which hits its own attempt, and the client asks again",
			story: again + "0.32 n1 delete c1#1 sent=0.22\n0.38 n1 set c1#1 sent=0.36\n0.4 c1 ok acquire c1#1 until=9.9"},
		{name: "the same if the node refuses the second request", story: asked + "0.35 n1 deliver c1 sent=0.33 word=SET\n0.4 c1 ok acquire c1#1 until=9.9"},
		{name: "the same if the second request is another command", story: asked + "0.35 n1 deliver c1 sent=0.33 word=GET\n0.4 c1 ok acquire c1#1 until=9.9",
			want: []string{"c1 deleted its own key of c1#1 on n1 at 0.320s" + late}},
		{name: "the same if the second request sets another key", story: asked + "0.35 n1 set c1#1 key=other sent=0.33\n0.4 c1 ok acquire c1#1 until=9.9",
			want: []string{"c1 deleted its own key of c1#1 on n1 at 0.320s" + late}},
		{name: "the late clean-up of an attempt with another token", story: `
			nodes 3
			0    c1 invoke acquire
			0.1  n1 set c1#1 sent=0.05
			0.2  n1 delete c1#1 sent=0.15
			0.3  n1 set c1#2 sent=0.25
			0.3  n2 set c1#2 sent=0.25
			0.4  c1 ok acquire c1#2 until=9.9`},
		{name: "an attempt that cleans up a node that was slow to answer, and does not count it",
			story: again + "0.35 n1 delete c1#1 sent=0.3\n0.4 c1 ok acquire c1#1 until=9.9"},
		{name: "the same, on its way when Acquire returns", story: again + "0.4 c1 ok acquire c1#1 until=9.9\n0.5 n1 delete c1#1 sent=0.35"},
		{name: "a clean-up that hits a key which an attempt has recognised as its own since", story: again + "0.35 n1 retime c1#1 sent=0.34\n0.4 c1 ok acquire c1#1 until=9.9\n0.5 n1 delete c1#1 sent=0.3",
			want: []string{"c1 deleted its own key of c1#1 on n1 at 0.500s" + late}},

		{name: "another value in its place", story: majority + "3 n1 over c2#1 was=c1#1 by=c1",
			want: []string{"c1 overwrote its own key of c1#1 on n1 at 3.000s [none]"}},
		{name: "another lease of its own in its place", story: majority + "3 c1 invoke acquire\n3.1 n1 over c1#2 was=c1#1"},
		{name: "another lease of its own in its place, for less time", story: majority + "3 c1 invoke acquire\n3.1 n1 over c1#2 was=c1#1 until=4",
			want: []string{"c1 shortened the life of its own key of c1#1 on n1 at 3.100s [none]"}},

		{name: "an extension", story: majority + "3 c1 invoke extend c1#1\n3.1 n1 retime c1#1 sent=3.05 until=13\n3.2 c1 ok extend c1#1 until=12.9"},
		{name: "an extension that asks for less, and tells no end", story: "nodes 1\n0 c1 invoke acquire\n0.1 n1 set c1#1\n0.2 c1 ok acquire c1#1 until=never\n" +
			"3 c1 invoke extend c1#1 ttl=2\n3.1 n1 retime c1#1 sent=3.05 until=5.1\n3.2 c1 ok extend c1#1 ttl=2 until=never"},
		{name: "an extension that sets less than it asks for, and tells no end", story: "nodes 1\n0 c1 invoke acquire\n0.1 n1 set c1#1\n0.2 c1 ok acquire c1#1 until=never\n" +
			"3 c1 invoke extend c1#1 ttl=4\n3.1 n1 retime c1#1 sent=3.05 until=5.1\n3.2 c1 ok extend c1#1 ttl=4 until=never",
			want: []string{"c1 shortened the life of its own key of c1#1 on n1 at 3.100s [none]"}},
		{name: "an extension that asks for less", story: majority + "3 c1 invoke extend c1#1\n3.1 n1 retime c1#1 sent=3.05 until=5\n3.2 c1 ok extend c1#1 until=4.9"},
		{name: "a renewal that asks for less", story: majority + "3.1 n1 retime c1#1 sent=3.05 until=5\n3.2 c1 info renew c1#1 until=4.9"},
		{name: "a late extension, after one for longer", want: []string{"c1 shortened the life of its own key of c1#1 on n1 at 5.000s, by a late command that had left before the one that set the key or its deadline [none]"}, story: majority + `
			3   c1 invoke extend c1#1
			3.2 c1 fail extend c1#1
			4   c1 invoke extend c1#1
			4.1 n1 retime c1#1 sent=4.05 until=20
			4.2 c1 ok extend c1#1 until=19.9
			5   n1 retime c1#1 sent=3.05 until=13`},
		{name: "a late extension that leaves enough", story: majority + `
			3   c1 invoke extend c1#1
			3.2 c1 fail extend c1#1
			4   c1 invoke extend c1#1
			4.1 n1 retime c1#1 sent=4.05 until=20
			4.2 c1 ok extend c1#1 until=12
			5   n1 retime c1#1 sent=3.05 until=13`},
		{name: "rounding", story: one + "3 n1 retime c1#1 until=9.8995"},
		{name: "less time for a key that had too little already", story: one + "3 n1 retime c1#1 until=11\n3 c1 info renew c1#1 until=20\n4 n1 retime c1#1 until=10.9999"},
		{name: "a deadline for a key that had none, of a lease without an end, which makes it the end of the lease",
			story: "0 c1 invoke acquire\n0.1 n1 set c1#1 until=never\n0.2 c1 ok acquire c1#1 until=never\n3 n1 retime c1#1 until=13"},
		{name: "a deadline for a key that had none, of a lease that ends before", story: "0 c1 invoke acquire\n0.1 n1 set c1#1 until=never\n0.2 c1 ok acquire c1#1 until=9.9\n3 n1 retime c1#1 until=13"},
		{name: "less time for a lease that its lock renews", story: "0 c1 invoke acquire\n0.1 n1 set c1#1\n0.2 c1 ok acquire c1#1 until=never renews\n3 n1 retime c1#1 until=8"},
		{name: "SETNX, then EXPIRE, within an acquire", story: "0 c1 invoke acquire\n0.1 n1 set c1#1 until=never\n0.2 n1 retime c1#1 until=10.2\n0.3 c1 ok acquire c1#1 until=never"},
		{name: "a lease without an end, for less than a TTL after its return", want: []string{"c1 shortened the life of its own key of c1#1 on n1 at 3.000s [none]"},
			story: "0 c1 invoke acquire\n0.1 n1 set c1#1 until=10.3\n0.2 c1 ok acquire c1#1 until=never\n3 n1 retime c1#1 until=8"},

		{name: "an instant by a client whose clock was set back", want: []string{"c1 shortened the life of its own key of c1#1 on n1 at 3.100s [bounded clock error]"},
			story: one + "1 c1 fault jump jump_c1_-8s wall=-8\n3 c1 invoke extend c1#1 wall=-8\n3.1 n1 retime c1#1 sent=3.05 until=5.05\n3.2 c1 fail extend c1#1 wall=-8"},
		{name: "an instant on a node whose clock was ahead", want: []string{"c1 shortened the life of its own key of c1#1 on n1 at 3.100s [bounded clock error]"},
			story: one + "1 n1 fault jump jump_n1_+5s wall=5\n3 c1 invoke extend c1#1\n3.1 n1 retime c1#1 sent=3.05 until=13.05 wall=5\n3.2 c1 fail extend c1#1"},
		{name: "an instant that is later than the TTL of the run, on a node whose clock was ahead", want: []string{"c1 shortened the life of its own key of c1#1 on n1 at 3.100s [bounded clock error]"},
			story: one + "1 n1 fault jump jump_n1_+25s wall=25\n3 c1 invoke extend c1#1 ttl=30\n3.1 n1 retime c1#1 sent=3.05 until=33.05 wall=25\n3.2 c1 fail extend c1#1"},
		{name: "a duration on a node whose clock was ahead", want: []string{"c1 shortened the life of its own key of c1#1 on n1 at 3.100s [none]"},
			story: one + "1 n1 fault jump jump_n1_+20s wall=20\n3 c1 invoke extend c1#1\n3.1 n1 retime c1#1 sent=3.05 until=25 wall=20\n3.2 c1 fail extend c1#1"},
		{name: "an instant that was too early by any clock", want: []string{"c1 shortened the life of its own key of c1#1 on n1 at 3.100s [none]"},
			story: one + "1 c1 fault jump jump_c1_-1s wall=-1\n3 c1 invoke extend c1#1 wall=-1\n3.1 n1 retime c1#1 sent=3.05 until=5 wall=0\n3.2 c1 fail extend c1#1 wall=-1"},

		{name: "less time by a clock that is slow", want: []string{"c1 shortened the life of its own key of c1#1 on n1 at 1.005s [bounded clock error]"},
			story: slow + "1.005 n1 retime c1#1 until=5.005\n1.01 c1 ok extend c1#1 until=4.995 clock=1.005"},
		{name: "less time by a clock that is slow, and rounding", want: []string{"c1 shortened the life of its own key of c1#1 on n1 at 1.005s [bounded clock error]"},
			story: slow + "1.005 n1 retime c1#1 until=4.9995\n1.01 c1 ok extend c1#1 until=4.995 clock=1.005"},
		{name: "less time than was asked for, and a clock that is slow", want: []string{"c1 shortened the life of its own key of c1#1 on n1 at 1.005s [none]"},
			story: slow + "1.005 n1 retime c1#1 until=4.99\n1.01 c1 ok extend c1#1 until=4.995 clock=1.005"},
		{name: "less time than was told, and a clock that is slow", want: []string{"c1 shortened the life of its own key of c1#1 on n1 at 1.005s [none]"},
			story: slow + "1.005 n1 retime c1#1 until=5.005\n1.01 c1 ok extend c1#1 until=6 clock=1.005"},
		{name: "less time than was told, and a clock that is fast", want: []string{"c1 shortened the life of its own key of c1#1 on n1 at 1.005s [none]"},
			story: strings.NewReplacer("-5000", "5000", "0.995", "1.005").Replace(slow) + "1.005 n1 retime c1#1 until=5.005\n1.01 c1 ok extend c1#1 until=6 clock=1.015"},
		{name: "an instant on a node whose clock is ahead, and a clock that is slow for no visible reason", want: []string{"c1 shortened the life of its own key of c1#1 on n1 at 1.005s [bounded clock error]"},
			story: strings.NewReplacer("0 c1 fault drift ppm=-5000", "0 n1 fault jump jump_n1_+20ms", "0.995", "0.98").Replace(slow) + "1.005 n1 retime c1#1 until=5.025 wall=0.02\n1.01 c1 ok extend c1#1 until=4.98 clock=0.98"},
		{name: "less time by a command from before its client asked for anything", want: []string{"c1 shortened the life of its own key of c1#1 on n1 at 3.000s" + late},
			story: "1 c1 invoke acquire\n1.1 n1 set c1#1\n1.2 c1 ok acquire c1#1 until=11\n3 n1 retime c1#1 until=5 sent=0.5"},

		{name: "an instant by a client whose clock is behind, sent again when it passes", want: []string{"c1 deleted its own key of c1#1 on n1 at 8.000s [bounded clock error]"},
			story: "0 c1 fault jump jump_c1_-7s wall=-7\n0 c1 invoke acquire wall=-7\n0.1 n1 set c1#1\n0.2 c1 ok acquire c1#1 until=never renews wall=-7\n5.1 n1 retime c1#1 sent=5 until=8\n8 n1 delete c1#1 sent=7.9 until=8"},
		{name: "an instant by a right clock, sent again when it passes", want: []string{"c1 deleted its own key of c1#1 on n1 at 8.000s [none]"},
			story: "0 c1 invoke acquire\n0.1 n1 set c1#1\n0.2 c1 ok acquire c1#1 until=never renews\n5.1 n1 retime c1#1 sent=5 until=8\n8 n1 delete c1#1 sent=7.9 until=8"},

		{name: "an instant that had passed on a node whose clock was ahead", want: []string{"c1 deleted its own key of c1#1 on n1 at 3.000s [bounded clock error]"},
			story: one + "1 n1 fault jump jump_n1_+20s wall=20\n2.8 c1 invoke extend c1#1\n3 n1 delete c1#1 sent=2.9 wall=20\n3.1 c1 fail extend c1#1"},
		{name: "the same of a lock that renews silently", want: []string{"c1 deleted its own key of c1#1 on n1 at 3.000s [bounded clock error]"},
			story: "0 c1 invoke acquire\n0.1 n1 set c1#1\n0.2 c1 ok acquire c1#1 until=never renews\n1 n1 fault jump jump_n1_+20s wall=20\n3 n1 delete c1#1 sent=2.9 wall=20"},
		{name: "a late clean-up on such a node, which has no deadline", want: []string{"c1 deleted its own key of c1#1 on n1 at 3.000s [none]"},
			story: one + "1 n1 fault jump jump_n1_+20s wall=20\n3 n1 delete c1#1 sent=2.9 wall=20"},
		{name: "a deletion on a node whose clock was ahead by less than a TTL", want: []string{"c1 deleted its own key of c1#1 on n1 at 3.000s [none]"},
			story: one + "1 n1 fault jump jump_n1_+9s wall=9\n2.8 c1 invoke extend c1#1\n3 n1 delete c1#1 sent=2.9 wall=9\n3.1 c1 fail extend c1#1"},
		{name: "a copy, which its primary deletes", story: "replica r1\n" + one + "0.3 r1 set c1#1 by=n1\n5 r1 delete c1#1 by=n1"},
		{name: "a copy on a promoted replica", story: "replica r1\n" + one + "0.3 r1 set c1#1 by=n1\n1 r1 promote\n5 r1 delete c1#1 sent=4",
			want: []string{"c1 deleted its own key of c1#1 on r1 at 5.000s [none]"}},
		{name: "a lease that was lost and is extended late", want: []string{"c1 deleted its own key of c1#1 on n1 at 13.000s [none]"},
			story: one + "12 c1 invoke extend c1#1\n12.1 c1 ok extend c1#1 until=22\n13 n1 delete c1#1"},
		{name: "between the end and a late extension", story: one + "11 n1 delete c1#1\n12 c1 invoke extend c1#1\n12.1 c1 ok extend c1#1 until=22"},
	})
}

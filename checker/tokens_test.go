package checker

import (
	"strings"
	"testing"
)

func TestTokens(t *testing.T) {
	const first = `
		0    c1 invoke acquire
		0.1  n1 set 33 key=lock:fence by=c1
		0.1  n1 set c1#1
		0.2  c1 ok acquire c1#1 until=10 fence=33
	`
	const second = `
		12   c2 invoke acquire
		12.1 n1 set c2#1
		12.2 c2 ok acquire c2#1 until=22
	`
	again := func(fence string) string { return strings.TrimRight(second, "\n\t") + " fence=" + fence + "\n" }
	both := func(story string) string { // with three nodes, of which another grants
		return strings.NewReplacer("0.2  c1 ok", "0.1 n3 set c1#1\n0.2 c1 ok", "12.2 c2 ok", "12.1 n3 set c2#1\n12.2 c2 ok").Replace(story)
	}
	const back = "c2 was granted c2#1 with token 32 at 12.100s, below the 33 of c1#1"
	const promoted = `
		replica r1
		0    c1 invoke acquire
		0.1  n1 set 33 key=lock:fence by=c1
		0.1  n1 set c1#1
		0.2  c1 ok acquire c1#1 until=10 fence=33
	`
	const onReplica = `
		11   r1 promote
		12   c2 invoke acquire
		12.1 r1 set c2#1
		12.2 c2 ok acquire c2#1 until=22 fence=32
	`
	testProperty(t, Tokens, []verdictCase{
		{name: "one", story: first},
		{name: "they grow", story: first + again("34")},
		{name: "they grow with gaps", story: first + again("99")},
		{name: "none at all", story: second},
		{name: "a lock that gives one sometimes", story: first + second},
		{name: "of another lock", story: first + `
			12   c2 invoke acquire lock=b
			12.2 c2 ok acquire c2#1 until=22 fence=33 lock=b`},
		{name: "in the order of grants, not of returns", story: `
			0    c1 invoke acquire
			0.1  n1 set c1#1
			10.1 n1 expire c1#1
			11   c2 invoke acquire
			12   n1 set c2#1
			12.1 c2 ok acquire c2#1 until=22 fence=34
			13   c1 ok acquire c1#1 until=10 fence=33`},
		{name: "never handed out", story: first + "12 c2 invoke acquire\n12.1 n1 set c2#1\n12.2 c2 info acquire fence=33"},
		{name: "the same twice", story: first + again("33"), want: []string{"c2 was granted c2#1 with token 33 at 12.100s, which was that of c1#1 [none]"}},
		{name: "they go back", story: first + again("32"), want: []string{back + " [none]"}},
		{name: "they go back when a node has lost its counter, after a grant that the history does not show", story: "0 c1 invoke acquire\n0.1 n1 set 33 key=lock:fence by=c1\n" +
			"0.2 c1 ok acquire c1#1 until=10 fence=33\n11 n1 fault crash\n11 n1 lose 33 key=lock:fence" + again("32"),
			want: []string{"c2 was granted c2#1 with token 32 at 12.100s, below the 33 of c1#1 [none]"}},
		{name: "they go back when a node comes back empty, and the history does not show the counter", story: "0 c1 invoke acquire\n0.1 n1 set c1#1\n" +
			"0.2 c1 ok acquire c1#1 until=10 fence=33\n11 n1 fault crash\n11.5 n1 fault restart restart_n1_empty" + again("1"),
			want: []string{"c2 was granted c2#1 with token 1 at 12.100s, below the 33 of c1#1 [durable nodes]"}},
		{name: "they go back when a node comes back with its keys", story: "0 c1 invoke acquire\n0.1 n1 set c1#1\n" +
			"0.2 c1 ok acquire c1#1 until=10 fence=33\n11 n1 fault crash\n11.5 n1 fault restart restart_n1" + again("1"),
			want: []string{"c2 was granted c2#1 with token 1 at 12.100s, below the 33 of c1#1 [none]"}},
		{name: "they go back, and a replica comes back empty", story: "replica r1\n0 c1 invoke acquire\n0.1 n1 set c1#1\n" +
			"0.2 c1 ok acquire c1#1 until=10 fence=33\n11 r1 fault crash\n11.5 r1 fault restart restart_r1_empty" + again("1"),
			want: []string{"c2 was granted c2#1 with token 1 at 12.100s, below the 33 of c1#1 [none]"}},
		{name: "they go back when a node comes back empty, and the history shows the counter, which was not lost", story: first + "11 n1 fault crash\n11.5 n1 fault restart restart_n1_empty" + again("32"),
			want: []string{back + " [none]"}},
		{name: "they go back twice", story: first + again("32") + "23 c3 invoke acquire\n23.1 n1 set c3#1\n23.2 c3 ok acquire c3#1 until=33 fence=33",
			want: []string{back + " [none]", "c3 was granted c3#1 with token 33 at 23.100s, which was that of c1#1 [none]"}},
		{name: "in the wrong order of grants", story: `
			0    c1 invoke acquire
			0.1  n1 set c1#1
			10.1 n1 expire c1#1
			11   c2 invoke acquire
			12   n1 set c2#1
			12.1 c2 ok acquire c2#1 until=22 fence=33
			13   c1 ok acquire c1#1 until=10 fence=34`,
			want: []string{"c2 was granted c2#1 with token 33 at 12.000s, below the 34 of c1#1 [none]"}},
		{name: "blame: the counter was lost", story: first + "11 n1 lose key=lock:fence" + again("32"), want: []string{back + " [durable nodes]"}},
		{name: "blame: the lock was lost, not its counter", story: first + "9 n1 lose c1#1" + again("32"), want: []string{back + " [none]"}},
		{name: "blame: a counter of another name was lost", story: strings.ReplaceAll(first+"11 n1 lose key=lock:fence"+again("32"), "lock:fence", "{lock}:n"), want: []string{back + " [durable nodes]"}},
		{name: "blame: another node knew the token, and lost it", story: "nodes 3\n" + both(first) + "2 n2 set 33 key=lock:fence by=c1\n11 n2 lose key=lock:fence" + both(again("32")), want: []string{back + " [durable nodes]"}},
		{name: "blame: another node came back with an older number", story: "nodes 3\n" + both(first) + "2 n2 set 33 key=lock:fence by=c1\n11 n2 over 31 key=lock:fence" + both(again("32")), want: []string{back + " [durable nodes]"}},
		{name: "blame: another node came back with the same number", story: "nodes 3\n" + both(first) + "2 n2 set 33 key=lock:fence by=c1\n11 n2 over 33 key=lock:fence" + both(again("32")), want: []string{back + " [none]"}},
		{name: "blame: a client set the number on another node back", story: "nodes 3\n" + both(first) + "2 n2 set 33 key=lock:fence by=c1\n11 n2 over 31 key=lock:fence by=c2" + both(again("32")), want: []string{back + " [none]"}},
		{name: "blame: another node lost an older number", story: "nodes 3\n" + both(first) + "2 n2 set 31 key=lock:fence by=c1\n11 n2 lose key=lock:fence" + both(again("32")), want: []string{back + " [none]"}},
		{name: "blame: a key was lost that has never counted tokens", story: first + "11 n1 lose key=other" + again("32"), want: []string{back + " [none]"}},
		{name: "blame: the lock was lost, and the counter was a part of it", story: strings.Replace(first, "0.1  n1 set 33 key=lock:fence by=c1", "", 1) + "9 n1 lose c1#1" + again("32"), want: []string{back + " [durable nodes]"}},
		{name: "blame: the counter was lost before", story: "0 n1 lose key=lock:fence\n" + first + again("32"), want: []string{back + " [none]"}},
		{name: "blame: the token is the time of a node, in milliseconds", story: "0 c1 invoke acquire\n0.1 n1 set c1#1\n0.2 c1 ok acquire c1#1 until=1 fence=946684800100\n2 n1 fault jump jump_n1_-1m\n12 c2 invoke acquire\n12.1 n1 set c2#1 wall=-60\n12.2 c2 ok acquire c2#1 until=22 fence=946684752100",
			want: []string{"c2 was granted c2#1 with token 946684752100 at 12.100s, below the 946684800100 of c1#1 [bounded clock error]"}},
		{name: "blame: the token is the time of a client, in seconds", story: "0 c1 invoke acquire\n0.1 n1 set c1#1\n0.2 c1 ok acquire c1#1 until=1 fence=946684800\n2 c2 fault jump jump_c2_-1m\n12 c2 invoke acquire wall=-60\n12.1 n1 set c2#1\n12.2 c2 ok acquire c2#1 until=22 fence=946684752 wall=-60",
			want: []string{"c2 was granted c2#1 with token 946684752 at 12.100s, below the 946684800 of c1#1 [bounded clock error]"}},
		{name: "blame: the token is a counter, though a clock was set back", story: first + "2 n1 fault jump jump_n1_-1m" + strings.Replace(again("32"), "n1 set c2#1", "n1 set c2#1 wall=-60", 1), want: []string{back + " [none]"}},
		{name: "blame: the token is a counter, though a clock was set back to a millisecond before", story: first + "2 n1 fault jump jump_n1_-12.001s" + strings.Replace(again("32"), "n1 set c2#1", "n1 set c2#1 wall=-12.001", 1), want: []string{back + " [none]"}},
		{name: "blame: the counter was deleted", story: first + "11 n1 delete key=lock:fence by=c3" + again("32"), want: []string{back + " [none]"}},
		{name: "blame: the replica never had the counter", story: promoted + onReplica, want: []string{back + " [durable nodes]"}},
		{name: "blame: the replica took over at the start, and the old primary granted on", story: "replica r1\n0 r1 promote\n" + first + strings.Replace(onReplica, "11   r1 promote", "", 1), want: []string{back + " [durable nodes]"}},
		{name: "blame: the replica had an older one", story: promoted + "0.3 r1 set 31 key=lock:fence by=n1" + onReplica, want: []string{back + " [durable nodes]"}},
		{name: "blame: the replica had it", story: promoted + "0.3 r1 set 33 key=lock:fence by=n1" + onReplica, want: []string{back + " [none]"}},
	})
}

package checker

import (
	"strings"
	"testing"
)

func TestOwnerOnly(t *testing.T) {
	const c1 = `
		0    c1 invoke acquire
		0.1  n1 set c1#1
		0.2  c1 ok acquire c1#1 until=10
	`
	// The key of c1 expires, and c2 has the lock when a DEL of c1 arrives.
	const c2 = `
		10.1 n1 expire c1#1
		11   c2 invoke acquire
		12   n1 set c2#1
		12.1 c2 ok acquire c2#1 until=22
	`
	const timeless = `
		0    c1 invoke acquire
		0.1  n1 set c1#1 until=never
		0.2  c1 ok acquire c1#1 until=10
	`
	const fenced = `
		0    c1 invoke acquire
		0.1  n1 set 33 key=lock:fence by=c1
		0.1  n1 set c1#1
		0.2  c1 ok acquire c1#1 until=10 fence=33
	`
	const again = `
		12   c2 invoke acquire
		12.1 n1 set 33 key=lock:fence by=c2
		12.1 n1 set c2#1
		12.2 c2 ok acquire c2#1 until=22 fence=33
	`
	const both = `
		0    c1 invoke acquire
		0.1  n1 set c1#1
		0.1  n1 set c1#1 key=last until=never
		0.2  c1 ok acquire c1#1 until=10
	`
	const both2 = `
		4    c2 invoke acquire
		4.1  n1 set c2#1
		4.1  n1 over c2#1 was=c1#1 key=last until=never
		4.2  c2 ok acquire c2#1 until=14
	`
	const deleted = "c1 deleted the key of c2#1 on n1 at 15.000s"
	testProperty(t, OwnerOnly, []verdictCase{
		{name: "its own key", story: c1 + "3 c1 invoke release c1#1\n3.1 n1 delete c1#1"},
		{name: "the key of another lease of its own", story: c1 + "3 c1 invoke acquire\n3.1 n1 over c1#2 was=c1#1\n3.2 n1 retime c1#2"},
		{name: "a key that stands for no lease", story: c1 + "3 n1 delete by=c2 key=other"},
		{name: "a counter of fencing tokens", story: c1 + "1 n1 set key=fence by=c1\n" + c2 + "13 n1 over key=fence by=c2"},
		{name: "an expiry is no command", story: c1 + "10.1 n1 expire c1#1 by=c2\n11 n1 lose c1#1 by=c2"},
		{name: "the server itself", story: c1 + "3 n1 delete c1#1 by=nobody"},
		{name: "setting anew what has expired", story: c1 + c2},
		{name: "a deletion by another", story: c1 + c2 + "14 c1 invoke release c1#1\n15 n1 delete c2#1 by=c1", want: []string{deleted + " [none]"}},
		{name: "of a lease with the same fencing token, since the node has lost its counter", want: []string{"c1 deleted the key of c2#1 on n1 at 15.000s [durable nodes]"},
			story: fenced + "5 n1 lose 33 key=lock:fence\n" + again + "15 n1 delete c2#1 by=c1"},
		{name: "of a lease with the same fencing token, though the node has kept its counter", want: []string{"c1 deleted the key of c2#1 on n1 at 15.000s [none]"},
			story: fenced + again + "15 n1 delete c2#1 by=c1"},
		{name: "of a lease with another fencing token, after the node has lost its counter", want: []string{"c1 deleted the key of c2#1 on n1 at 15.000s [none]"},
			story: fenced + "5 n1 lose 33 key=lock:fence\n" + strings.ReplaceAll(again, "33", "1") + "15 n1 delete c2#1 by=c1"},
		{name: "of a lease on another lock with the same fencing token, after the node has lost its counter", want: []string{"c1 deleted the key of c2#1 on n1 at 15.000s [none]"},
			story: strings.ReplaceAll(fenced, "fence=33", "fence=33 lock=b") + "5 n1 lose 33 key=lock:fence\n" + again + "15 n1 delete c2#1 by=c1"},
		{name: "a value over that of an earlier lease with the same fencing token, since the node has lost its counter", want: []string{"c2 overwrote the key of c1#1 on n1 at 12.100s [durable nodes]"},
			story: strings.ReplaceAll(fenced, "10", "30") + "5 n1 lose 33 key=lock:fence\n" + strings.ReplaceAll(again, "n1 set c2#1", "n1 over c2#1 was=c1#1")},
		{name: "a value over that of another", story: c1 + "3 c2 invoke acquire\n4 n1 over c2#1 was=c1#1",
			want: []string{"c2 overwrote the key of c1#1 on n1 at 4.000s [none]"}},
		{name: "a key without an end, at the instant at which it is gone",
			story: "0 c1 invoke acquire\n0 n1 set c1#1 until=never\n0 c1 ok acquire c1#1 until=never\n4 n1 retime c1#1 by=c2\n4 n1 expire c1#1",
			want:  []string{"c2 re-timed the key of c1#1 on n1 at 4.000s [none]"}},
		{name: "only the wrong clock of the client lets it rely on the lease", story: "0 c1 fault drift ppm=-100000\n" + c1 + "10.5 n1 over c2#1 was=c1#1"},
		{name: "only what the clock lost during the acquire lets it rely on the lease", story: "0 c1 fault drift ppm=-500000\n0 c1 invoke acquire\n0.1 n1 set c1#1 until=never\n4 c1 ok acquire c1#1 until=4 clock=2\n4.3 n1 over c2#1 was=c1#1"},
		{name: "the lease is over by right clocks before its client learns of it", story: "0 c1 fault drift ppm=-500000\n0 c1 invoke acquire\n0.1 n1 set c1#1 until=never\n2.02 n1 over c2#1 was=c1#1\n3 c1 ok acquire c1#1 until=2 clock=1.5"},
		{name: "only by a fast clock is the lease over before its client learns of it", story: "0 c1 fault drift ppm=500000\n0 c1 invoke acquire\n0.1 n1 set c1#1 until=never\n6.3 n1 over c2#1 was=c1#1\n8 c1 ok acquire c1#1 until=10 clock=12",
			want: []string{"c2 overwrote the key of c1#1 on n1 at 6.300s [none]"}},
		{name: "the lease is not over before its client learns of it", story: "0 c1 fault drift ppm=-500000\n0 c1 invoke acquire\n0.1 n1 set c1#1 until=never\n1.98 n1 over c2#1 was=c1#1\n3 c1 ok acquire c1#1 until=2 clock=1.5",
			want: []string{"c2 overwrote the key of c1#1 on n1 at 1.980s [none]"}},
		{name: "the clock lost some during the acquire, but the lease is not over", story: "0 c1 fault drift ppm=-500000\n0 c1 invoke acquire\n0.1 n1 set c1#1 until=never\n4 c1 ok acquire c1#1 until=4.4 clock=2\n4.3 n1 over c2#1 was=c1#1",
			want: []string{"c2 overwrote the key of c1#1 on n1 at 4.300s [none]"}},
		{name: "the clock is wrong, but the lease has no end", story: "0 c1 fault drift ppm=-100000\n0 c1 invoke acquire\n0.1 n1 set c1#1 until=never\n" +
			"0.2 c1 ok acquire c1#1 until=never clock=0.18\n4 n1 over c2#1 was=c1#1",
			want: []string{"c2 overwrote the key of c1#1 on n1 at 4.000s [none]"}},
		{name: "the clock is wrong, but the lease is not over", story: "0 c1 fault drift ppm=-100000\n" + c1 + "9.5 n1 over c2#1 was=c1#1",
			want: []string{"c2 overwrote the key of c1#1 on n1 at 9.500s [none]"}},
		{name: "another deadline", story: c1 + "3 c2 invoke acquire\n4 n1 retime c1#1 by=c2",
			want: []string{"c2 re-timed the key of c1#1 on n1 at 4.000s [none]"}},
		{name: "before the lease was made shorter than it had been already", story: c1 + "4 n1 delete c1#1 by=c2\n6 c1 info renew c1#1 until=3",
			want: []string{"c2 deleted the key of c1#1 on n1 at 4.000s [none]"}},
		{name: "after the lease was made shorter than it had been already", story: c1 + "6 c1 info renew c1#1 until=3\n6 n1 delete c1#1 by=c2"},
		{name: "a client of which nothing else is known", story: c1 + "4 n1 delete c1#1 by=c9",
			want: []string{"c9 deleted the key of c1#1 on n1 at 4.000s [none]"}},
		{name: "by a script that takes the time from a node whose clock has jumped", story: timeless + "1 n1 fault jump jump_n1_+20s\n2 c2 invoke acquire\n2 n1 delete c1#1 by=c2 wall=20"},
		{name: "by a release on such a node", story: timeless + "1 n1 fault jump jump_n1_+20s\n2 c2 invoke acquire\n2 c2 fail acquire\n2 c2 invoke release c2#1\n2 n1 delete c1#1 by=c2 wall=20",
			want: []string{"c2 deleted the key of c1#1 on n1 at 2.000s [none]"}},
		{name: "by a script that was right to take the time for over", want: []string{"c2 deleted the key of c1#1 on n1 at 12.000s [none]"},
			story: "0 c1 invoke acquire\n0.1 n1 set c1#1 until=never\n0.2 c1 ok acquire c1#1 until=never\n1 n1 fault jump jump_n1_+20s\n12 c2 invoke acquire\n12 n1 delete c1#1 by=c2 wall=20"},
		{name: "by one on a node whose clock has jumped too little", story: timeless + "1 n1 fault jump jump_n1_+5s\n2 c2 invoke acquire\n2 n1 delete c1#1 by=c2 wall=5",
			want: []string{"c2 deleted the key of c1#1 on n1 at 2.000s [none]"}},
		{name: "by one on a node whose clock was ahead when the key was set", want: []string{"c2 deleted the key of c1#1 on n1 at 2.000s [none]"},
			story: "0 n1 fault jump jump_n1_+20s\n0 c1 invoke acquire\n0.1 n1 set c1#1 until=never wall=20\n0.2 c1 ok acquire c1#1 until=10\n2 c2 invoke acquire\n2 n1 delete c1#1 by=c2 wall=20"},
		{name: "by wrong clocks of clients, after a re-timing that no clock explains", want: []string{
			"c2 re-timed the key of c1#1 on n1 at 3.000s [none]", "c2 overwrote the key of c1#1 on n1 at 5.000s [bounded clock error]"},
			story: "0 c2 fault jump jump_c2_+6s\n" + timeless + "2 c2 invoke acquire wall=6\n3 n1 retime c1#1 by=c2 until=never\n5 n1 over c2#1 was=c1#1 until=never"},
		{name: "names that begin alike", story: c1 + "4 n1 delete c1#1 by=c",
			want: []string{"c deleted the key of c1#1 on n1 at 4.000s [none]"}},

		{name: "a pause before the release", story: c1 + "1 c1 fault pause" + c2 + "14 c1 fault resume\n14 c1 invoke release c1#1\n15 n1 delete c2#1 by=c1 sent=14.9",
			want: []string{deleted + " [none]"}},
		{name: "a pause within the release", story: c1 + "2 c1 invoke release c1#1\n3 c1 fault pause" + c2 + "14 c1 fault resume\n15 n1 delete c2#1 by=c1 sent=14.9",
			want: []string{deleted + " [none]"}},
		{name: "a pause before the lease", story: "0 c1 fault pause\n0 c1 fault resume\n" + c1 + c2 + "14 c1 invoke release c1#1\n15 n1 delete c2#1 by=c1 sent=14.9",
			want: []string{deleted + " [none]"}},
		{name: "a pause within the acquire", story: `
			0    c1 invoke acquire
			0.1  n1 set c1#1
			1    c1 fault pause
			2    c1 fault resume
			3    c1 ok acquire c1#1 until=10` + c2 + "14 c1 invoke release c1#1\n15 n1 delete c2#1 by=c1 sent=14.9",
			want: []string{deleted + " [none]"}},
		{name: "a pause after the command left", story: c1 + c2 + "14 c1 invoke release c1#1\n14.5 c1 fault pause\n15 n1 delete c2#1 by=c1 sent=14.4",
			want: []string{deleted + " [none]"}},
		{name: "a pause of another client", story: c1 + c2 + "13 c2 fault pause\n14 c1 invoke release c1#1\n15 n1 delete c2#1 by=c1 sent=14.4",
			want: []string{deleted + " [none]"}},
		{name: "a waiter that paused after it had read", story: c1 + `
			1    c3 invoke acquire
			2    c3 fault pause` + c2 + `
			14   c3 fault resume
			15   n1 retime c2#1 by=c3 sent=14.9`,
			want: []string{"c3 re-timed the key of c2#1 on n1 at 15.000s [none]"}},
		{name: "a waiter that had paused before it asked", story: c1 + `
			1    c3 fault pause
			2    c3 fault resume
			2    c3 invoke acquire` + c2 + `
			15   n1 retime c2#1 by=c3 sent=14.9`,
			want: []string{"c3 re-timed the key of c2#1 on n1 at 15.000s [none]"}},
		{name: "a waiter that had the lock and paused then", story: c1 + `
			1    c1 fault pause
			2    c1 fault resume
			3    c1 invoke release c1#1
			3.1  c1 ok release c1#1
			4    c1 invoke acquire` + c2 + `
			15   n1 over c1#2 was=c2#1 sent=14.9`,
			want: []string{"c1 overwrote the key of c2#1 on n1 at 15.000s [none]"}},
		{name: "a command that was late", story: c1 + "9 c1 invoke release c1#1" + c2 + "15 n1 delete c2#1 by=c1 sent=9.1",
			want: []string{deleted + " [none]"}},
		{name: "a command that was hardly late", story: c1 + "9 c1 invoke release c1#1" + c2 + "15 n1 delete c2#1 by=c1 sent=10",
			want: []string{deleted + " [none]"}},
		{name: "a command that was late, but had left after the key was set", story: "ttl 5\n" + c1 + c2 + "12.2 c1 invoke release c1#1\n15 n1 delete c2#1 by=c1 sent=12.3",
			want: []string{deleted + " [none]"}},
		{name: "a command that was late, but for another key of the lease", story: "nodes 3\n" + c1 + `
			9    n1 delete c1#1
			9    n1 set c2#1
			12   n2 set c2#1
			15   n1 delete c2#1 by=c1 sent=9.1`,
			want: []string{deleted + " [none]"}},
		{name: "what a primary did comes to its replica", story: "replica r1\n" + c1 + "0.3 r1 set c1#1 by=n1\n5 n1 delete c1#1\n5.1 r1 delete c1#1 by=n1"},
		{name: "a lease that is over is nobody's", story: c1 + "9.9 c2 invoke acquire\n10 n1 over c2#1 was=c1#1\n10.1 c2 ok acquire c2#1 until=20"},
		{name: "a lease that is nearly over", story: c1 + "9.8 c2 invoke acquire\n9.9 n1 over c2#1 was=c1#1\n10.1 c2 ok acquire c2#1 until=20",
			want: []string{"c2 overwrote the key of c1#1 on n1 at 9.900s [none]"}},
		{name: "a lease that was extended", story: c1 + "9 c1 invoke extend c1#1\n9 c1 ok extend c1#1 until=19\n12 n1 delete c1#1 by=c2",
			want: []string{"c2 deleted the key of c1#1 on n1 at 12.000s [none]"}},
		{name: "after a release that wrote into the key that it is free", story: timeless + "3 c1 invoke release c1#1\n3.2 c1 ok release c1#1\n4 n1 over c2#1 was=c1#1"},
		{name: "after a release whose answer was lost", story: timeless + "3 c1 invoke release c1#1\n3.2 c1 info release c1#1\n4 n1 over c2#1 was=c1#1"},
		{name: "before the release", story: timeless + "4 n1 over c2#1 was=c1#1\n5 c1 invoke release c1#1\n5.2 c1 ok release c1#1",
			want: []string{"c2 overwrote the key of c1#1 on n1 at 4.000s [none]"}},
		{name: "after a release, while its client holds another lease with the same key", story: timeless + `
			1   c1 invoke acquire
			1.2 c1 ok acquire c1#2 until=11
			3   c1 invoke release c1#1
			3.2 c1 ok release c1#1
			4   n1 over c2#1 was=c1#1`,
			want: []string{"c2 overwrote the key of c1#1 on n1 at 4.000s [none]"}},
		{name: "after a release, while its client relies on a lease whose key was lost", story: timeless + `
			1   n1 lose c1#1
			2   c1 invoke acquire
			2.1 n1 set c1#2
			2.2 c1 ok acquire c1#2 until=12
			3   c1 invoke release c1#2
			3.2 c1 ok release c1#2
			4   n1 over c2#1 was=c1#2`},
		{name: "a lease that was never handed out", story: "0 c1 invoke acquire\n0.1 n1 set c1#1\n10 n1 delete c1#1 by=c2",
			want: []string{"c2 deleted the key of c1#1 on n1 at 10.000s [none]"}},
		{name: "a lease that was never handed out, a TTL later", story: "0 c1 invoke acquire\n0.1 n1 set c1#1 until=never\n0.2 c1 fault crash\n10.1 n1 over c2#1 was=c1#1"},
		{name: "a try that failed, a TTL after its late request", story: "0 c1 invoke acquire\n5 c1 fail acquire\n6 n1 set c1#1 sent=0.1\n10.1 n1 delete c1#1 by=c2"},
		{name: "a try that failed, less than a TTL after its late request", story: "0 c1 invoke acquire\n5 c1 fail acquire\n6 n1 set c1#1 sent=0.1\n10 n1 delete c1#1 by=c2",
			want: []string{"c2 deleted the key of c1#1 on n1 at 10.000s [none]"}},
		{name: "a try that failed, a TTL later", story: "0 c1 invoke acquire\n0.1 n1 set c1#1 until=never\n0.2 c1 fail acquire\n30 n1 delete c1#1 by=c2"},
		{name: "a try that failed, set anew", story: "0 c1 invoke acquire\n0.1 n1 set c1#1 until=never\n0.2 c1 fail acquire\n9 n1 over c1#1 was=c1#1\n11 n1 delete c1#1 by=c2",
			want: []string{"c2 deleted the key of c1#1 on n1 at 11.000s [none]"}},
		{name: "a lease that will be handed out later", story: "0 c1 invoke acquire\n0.1 n1 set c1#1 until=never\n30 n1 delete c1#1 by=c2\n31 c1 ok acquire c1#1 until=32",
			want: []string{"c2 deleted the key of c1#1 on n1 at 30.000s [none]"}},
		{name: "a lease without a TTL", story: "ttl 0\n0 c1 invoke acquire\n0.1 n1 set c1#1 until=never\n0.2 c1 fault crash\n99 n1 delete c1#1 by=c2",
			want: []string{"c2 deleted the key of c1#1 on n1 at 99.000s [none]"}},
		{name: "two clients drew one token", story: c1 + `
			10.1 n1 expire c1#1
			11   c2 invoke acquire
			12   n1 set c1#1 by=c2
			12.1 c2 ok acquire c2#1 until=22
			15   n1 delete c1#1 by=c1`,
			want: []string{"c1 deleted the key of c2#1, which had the token of c1#1, on n1 at 15.000s [none]"}},
		{name: "two clients drew one token, and the second comes to no end", story: c1 + `
			10.1 n1 expire c1#1
			11   c2 invoke acquire
			12   n1 set c1#1 by=c2
			15   n1 delete c1#1 by=c1`,
			want: []string{"c1 deleted the key of c2#?, which had the token of c1#1, on n1 at 15.000s [none]"}},
		{name: "two clients drew one token, and the second deletes its own", story: c1 + `
			10.1 n1 expire c1#1
			11   c2 invoke acquire
			12   n1 set c1#1 by=c2
			12.1 c2 ok acquire c2#1 until=22
			15   n1 delete c1#1 by=c2`},
		{name: "an entry in a list of those who wait, removed by another", story: c1 + `
			1   c2 invoke acquire
			1.1 n1 set c2#1 until=never key=queue
			3   n1 delete c2#1 by=c1 key=queue
		`},
		{name: "the same, where nobody ever had the lock, so that it may be the lock", story: `
			1   c2 invoke acquire
			1.1 n1 set c2#1 until=never key=queue
			3   n1 delete c2#1 by=c1 key=queue
		`, want: []string{"c1 deleted the key of c2#1 on n1 at 3.000s [none]"}},
		{name: "a key that names the last holder, and that no release deletes", story: both + `
			3   c1 invoke release c1#1
			3.1 n1 delete c1#1
			3.2 c1 ok release c1#1` + both2},
		{name: "the same, where a lease lost its other key before it was obtained", story: both + `
			3   c1 invoke release c1#1
			3.1 n1 delete c1#1
			3.2 c1 ok release c1#1` + strings.Replace(both2, "4.2", "4.15 n1 expire c2#1\n4.2", 1)},
		{name: "where only another deletes the other key", want: []string{"c2 deleted the key of c1#1 on n1 at 3.100s [none]", "c2 overwrote the key of c1#1 on n1 at 4.100s [none]"},
			story: both + "3.1 n1 delete c1#1 by=c2" + both2},
		{name: "where a client deletes its own in the end", want: []string{"c2 overwrote the key of c1#1 on n1 at 4.100s [none]"},
			story: both + "3.1 n1 delete c1#1" + both2 + "6 n1 delete c2#1 key=last"},
		{name: "where the other key was on another node", want: []string{"c2 overwrote the key of c1#1 on n1 at 4.100s [none]"}, story: "nodes 2\n" + both + `
			2   n2 set c1#1
			3   n2 delete c1#1` + both2},
		{name: "where the other key had gone before, and was set again", want: []string{"c2 overwrote the key of c1#1 on n1 at 4.000s [none]"}, story: `
			0    c1 invoke acquire
			0.1  n1 set c1#1
			0.2  n1 delete c1#1
			0.3  n1 set c1#1 key=last
			0.3  n1 set c1#1
			0.4  c1 ok acquire c1#1 until=10
			4    n1 over c2#1 was=c1#1 key=last`},
		{name: "where the other key is deleted only later", story: both + "4 n1 over c2#1 was=c1#1 key=last\n5 n1 delete c1#1",
			want: []string{"c2 overwrote the key of c1#1 on n1 at 4.000s [none]"}},
		{name: "where the other key had gone when the key was set", want: []string{"c2 overwrote the key of c1#1 on n1 at 4.000s [none]"}, story: `
			0    c1 invoke acquire
			0.1  n1 set c1#1
			0.2  n1 delete c1#1
			0.3  n1 set c1#1 key=last
			0.4  c1 ok acquire c1#1 until=10
			4    n1 over c2#1 was=c1#1 key=last`},
		{name: "the next in a queue that is one key", story: c1 + `
			3   c2 invoke acquire
			3.1 c2 fail acquire
			4   c1 invoke release c1#1
			4.1 n1 over c2#1 was=c1#1 by=c1
			5   c2 invoke acquire
			5.1 c2 ok acquire c2#2 until=15
			6   c2 invoke release c2#2
			6.1 n1 delete c2#1 by=c2`},
		{name: "the next in a queue, after another who waits expelled the first", story: c1 + `
			3    c2 invoke acquire
			3.1  c2 fail acquire
			11   c3 invoke acquire
			11.1 n1 over c2#1 was=c1#1 by=c3
			11.2 c3 fail acquire
			12   c2 invoke acquire
			12.1 c2 ok acquire c2#2 until=22
			13   c2 invoke release c2#2
			13.1 n1 delete c2#1 by=c2`},
		{name: "one who waits in a queue, expelled by another", story: c1 + `
			3    c2 invoke acquire
			3.1  c2 fail acquire
			11   c3 invoke acquire
			11.1 n1 over c2#1 was=c1#1 by=c3
			12   n1 over c3#1 was=c2#1 by=c3`},
		{name: "one who waits in a queue, expelled by another while somebody else has a lease", story: c1 + `
			3   c2 invoke acquire
			3.1 c2 fail acquire
			4   c1 invoke release c1#1
			4.1 n1 over c2#1 was=c1#1 by=c1
			5   c4 invoke acquire
			5.1 c4 ok acquire c4#1 until=15
			6   n1 delete c2#1 by=c3`},
		{name: "one who came to the front of a queue and has the lock, expelled by another", story: c1 + `
			3   c2 invoke acquire
			3.1 c2 fail acquire
			4   c1 invoke release c1#1
			4.1 n1 over c2#1 was=c1#1 by=c1
			5   c2 invoke acquire
			5.1 c2 ok acquire c2#2 until=15
			6   n1 delete c2#1 by=c3`,
			want: []string{"c3 deleted the key of c2#1 on n1 at 6.000s [none]"}},
		{name: "a command that was late, but before the key was set anew", story: "ttl 5\n" + c1 + c2 + `
			12.2 c1 invoke release c1#1
			15   n1 delete c2#1 by=c1 sent=12.3
			16   n1 set c2#1`,
			want: []string{deleted + " [none]"}},
	})
}

package checker

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"lockstep/checker/facts"
	"lockstep/checker/internal/handmade"
	"lockstep/sim/history"
)

func parseMust(t testing.TB, s string) Must {
	t.Helper()
	m, err := ParseMust(s)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestMustMet(t *testing.T) {
	const c1 = `
		0    c1 invoke acquire
		0.1  n1 set c1#1
		0.1  n2 set c1#1
		0.2  c1 ok acquire c1#1 until=10
	`
	type situation struct{ name, text string }
	covered := map[string]bool{}
	for _, c := range []struct {
		must       string
		met, unmet []situation
	}{
		{
			must:  "c1 acquires",
			met:   []situation{{"it does", c1}},
			unmet: []situation{{"nothing happens", ""}, {"it is refused", "0 c1 invoke acquire\n1 c1 fail acquire"}, {"another does", "0 c2 invoke acquire\n1 c2 ok acquire c2#1 until=9"}},
		},
		{
			must:  "c1 is refused",
			met:   []situation{{"it is", "0 c1 invoke acquire\n1 c1 fail acquire"}},
			unmet: []situation{{"it acquires", c1}, {"nobody can tell", "0 c1 invoke acquire\n1 c1 info acquire"}, {"a write fails", "0 c1 invoke write\n1 c1 fail write"}, {"another is", "0 c2 invoke acquire\n1 c2 fail acquire"}},
		},
		{
			must:  "c1 is cancelled",
			met:   []situation{{"while it acquires", "0 c1 invoke acquire\n1 c1 info cancel\n2 c1 info acquire"}},
			unmet: []situation{{"nobody can tell what became of its acquire", "0 c1 invoke acquire\n1 c1 info acquire"}, {"another is", "0 c2 invoke acquire\n1 c2 info cancel\n2 c2 info acquire"}},
		},
		{
			must: "c1 pauses after a passed check",
			met: []situation{
				{"it does", c1 + "1 c1 ok check c1#1\n1 c1 fault pause"},
				{"an older lease is released again", c1 + "1 c1 ok check c1#1\n1.1 c1 invoke release c1#0\n1.2 c1 fail release c1#0\n2 c1 fault pause"},
				{"a write comes between", c1 + "1 c1 ok check c1#1\n1 c1 invoke write\n2 c1 ok write\n3 c1 fault pause"},
				{"a check with an invocation", c1 + "1 c1 invoke check\n1 c1 ok check c1#1\n1 c1 fault pause"},
			},
			unmet: []situation{
				{"no check", c1 + "1 c1 fault pause"},
				{"a failed check", c1 + "1 c1 fail check c1#1\n1 c1 fault pause"},
				{"a later check fails", c1 + "1 c1 ok check c1#1\n2 c1 fail check c1#1\n2 c1 fault pause"},
				{"the pause comes first", c1 + "1 c1 fault pause\n2 c1 fault resume\n3 c1 ok check c1#1"},
				{"the release comes first", c1 + "1 c1 ok check c1#1\n2 c1 invoke release c1#1\n2.1 c1 fault pause"},
				{"another pauses", c1 + "1 c1 ok check c1#1\n1 c2 fault pause"},
			},
		},
		{
			must: "c1 resumes after its lease ended",
			met: []situation{
				{"it does", c1 + "1 c1 fault pause\n15 c1 fault resume"},
				{"after an older lease was released again", c1 + "1 c1 invoke release c1#0\n1.1 c1 fail release c1#0\n2 c1 fault pause\n15 c1 fault resume"},
				{"by a nanosecond", c1 + "1 c1 fault pause\n10.000000001 c1 fault resume"},
				{"within its release", c1 + "1 c1 invoke release c1#1\n2 c1 fault pause\n15 c1 fault resume"},
				{"at the second pause", c1 + "1 c1 fault pause\n2 c1 fault resume\n3 c1 fault pause\n15 c1 fault resume"},
				{"by its own fast clock", c1 + "1 c1 fault drift ppm=1000000\n2 c1 fault pause\n6 c1 fault resume"},
			},
			unmet: []situation{
				{"at its end", c1 + "1 c1 fault pause\n10 c1 fault resume"},
				{"by its own slow clock", c1 + "1 c1 fault drift ppm=-500000\n2 c1 fault pause\n15 c1 fault resume"},
				{"never", c1 + "1 c1 fault pause"},
				{"paused before it had the lease", "0 c1 invoke acquire\n1 c1 fault pause\n20 c1 fault resume\n21 c1 ok acquire c1#1 until=10"},
				{"paused after the release", c1 + "1 c1 invoke release c1#1\n2 c1 ok release c1#1\n3 c1 fault pause\n15 c1 fault resume"},
				{"another resumes", c1 + "1 c2 fault pause\n15 c2 fault resume"},
			},
		},
		{
			must: "c1 resumes after its keys ended",
			met: []situation{
				{"it does", "0 c1 invoke acquire\n0.1 n1 set c1#1\n0.1 n2 set c1#1\n1 c1 fault pause\n10 n1 expire c1#1\n10 n2 expire c1#1\n11 c1 fault resume"},
				{"the keys arrive in its sleep", "0 c1 invoke acquire\n0 c1 fault pause\n0.1 n1 set c1#1\n0.1 n2 set c1#1\n10 n1 expire c1#1\n10 n2 expire c1#1\n11 c1 fault resume"},
			},
			unmet: []situation{
				{"the operation is over", c1 + "1 c1 fault pause\n10 n1 expire c1#1\n10 n2 expire c1#1\n11 c1 fault resume"},
				{"the keys are of an earlier operation", c1 + "1 c1 invoke release\n1 c1 fault pause\n10 n1 expire c1#1\n10 n2 expire c1#1\n11 c1 fault resume"},
				{"only a minority", "0 c1 invoke acquire\n0.1 n1 set c1#1\n1 c1 fault pause\n10 n1 expire c1#1\n11 c1 fault resume"},
				{"one node twice", "0 c1 invoke acquire\n0.1 n1 set c1#1\n1 c1 fault pause\n10 n1 expire c1#1\n10 n1 set c1#1\n10.5 n1 expire c1#1\n11 c1 fault resume"},
				{"only a minority expired", "0 c1 invoke acquire\n0.1 n1 set c1#1\n0.1 n2 set c1#1\n1 c1 fault pause\n10 n1 expire c1#1\n11 c1 fault resume"},
				{"they were deleted", "0 c1 invoke acquire\n0.1 n1 set c1#1\n0.1 n2 set c1#1\n1 c1 fault pause\n10 n1 delete c1#1\n10 n2 delete c1#1\n11 c1 fault resume"},
				{"they expire later", "0 c1 invoke acquire\n0.1 n1 set c1#1\n0.1 n2 set c1#1\n1 c1 fault pause\n9 c1 fault resume\n10 n1 expire c1#1\n10 n2 expire c1#1"},
				{"keys of another", "0 c1 invoke acquire\n0.1 n1 set c2#1\n0.1 n2 set c2#1\n1 c1 fault pause\n10 n1 expire c2#1\n10 n2 expire c2#1\n11 c1 fault resume"},
			},
		},
		{
			must: "c1 holds exactly n1 n2",
			met:  []situation{{"it does", c1}, {"a third came and went", "0 c1 invoke acquire\n0 n1 set c1#1\n0 n2 set c1#1\n0 n3 set c1#1\n0 n3 lose c1#1\n1 c1 ok acquire c1#1 until=9\n2 n3 set c1#1"}, {"with a copy", "replica r1\n0 c1 invoke acquire\n0 n1 set c1#1\n0 r1 set c1#1 by=n1\n0 n2 set c1#1\n1 c1 ok acquire c1#1 until=9"}},
			unmet: []situation{
				{"more", "0 n3 set c1#1\n" + c1},
				{"fewer", "0 c1 invoke acquire\n0.1 n1 set c1#1\n0.2 c1 ok acquire c1#1 until=9"},
				{"others", "0 c1 invoke acquire\n0 n1 set c1#1\n0 n3 set c1#1\n1 c1 ok acquire c1#1 until=9"},
				{"an earlier lease", "0 n2 set c1#0\n0 c1 invoke acquire\n0 n1 set c1#1\n1 c1 ok acquire c1#1 until=9"},
				{"later", "0 c1 invoke acquire\n0 n1 set c1#1\n1 c1 ok acquire c1#1 until=9\n2 n2 set c1#1"},
				{"never handed out", "0 c1 invoke acquire\n0 n1 set c1#1\n0 n2 set c1#1\n1 c1 info acquire"},
				{"a copy for one of them", "replica r1\n0 c1 invoke acquire\n0 n1 set c1#1\n0 n2 set c1#1\n0 r1 set c1#1 by=n1\n0 n1 lose c1#1\n1 c1 ok acquire c1#1 until=9"},
			},
		},
		{
			must: "n2 drops the key of c1 early",
			met:  []situation{{"by expiry", c1 + "5 n2 expire c1#1"}, {"by loss", c1 + "5 n2 lose c1#1"}, {"without a deadline", c1 + "1 n2 retime c1#1 until=never\n50 n2 lose c1#1"}, {"less than it was promised", c1 + "1 n2 retime c1#1 until=31\n15 n2 expire c1#1"}},
			unmet: []situation{
				{"in time", c1 + "10.1 n2 expire c1#1"}, {"within rounding", c1 + "10.099 n2 expire c1#1"}, {"by a command", c1 + "5 n2 delete c1#1"},
				{"another node", c1 + "5 n1 expire c1#1"}, {"another key", "0 n2 set c2#1\n5 n2 expire c2#1"}, {"not at all", c1},
				{"promised less", "0 c1 invoke acquire\n0.1 n2 set c1#1 until=2.6\n2.6 n2 expire c1#1"}, {"made less", c1 + "1 n2 retime c1#1 until=103 wall=100\n3 n2 expire c1#1"},
				{"promised less, and lost after that", c1 + "1 n2 retime c1#1 until=3\n3.1 n2 lose c1#1"}, {"promised no end", c1 + "1 n2 retime c1#1 until=never\n3 n2 expire c1#1"},
			},
		},
		{
			must: "n2 keeps the key of c1 late",
			met:  []situation{{"until it expires", c1 + "10.2101 n2 expire c1#1"}, {"until the end", c1 + "15 c2 info exit"}, {"promised less", c1 + "1 n2 retime c1#1 until=3\n6 n2 expire c1#1"}},
			unmet: []situation{
				{"within the allowance", c1 + "10.21 n2 expire c1#1\n20 n2 set c1#2"}, {"renewed", c1 + "9 n2 retime c1#1\n18 n2 expire c1#1"},
				{"another node", c1 + "10.1 n2 expire c1#1\n15 n1 expire c1#1"}, {"another key", "0 n2 set c2#1\n15 n2 expire c2#1"}, {"promised more", c1 + "1 n2 retime c1#1 until=31\n31 n2 expire c1#1"}, {"promised no end", c1 + "1 n2 retime c1#1 until=never\n99 c1 info exit"}, {"no TTL", "ttl 0\n" + c1 + "99 n2 expire c1#1"},
			},
		},
		{
			must: "n3 restarts after the lease of c1 ended",
			met:  []situation{{"it does", c1 + "1 n3 fault crash\n10.1 n3 fault restart id=2"}},
			unmet: []situation{
				{"by the healing at the end", c1 + "1 n3 fault crash\n10.1 n3 fault restart"}, {"before", c1 + "1 n3 fault crash\n9 n3 fault restart id=2"}, {"at its end", c1 + "1 n3 fault crash\n10 n3 fault restart id=2"}, {"another", c1 + "1 n2 fault crash\n11 n2 fault restart id=2"},
				{"before there was one", "0 n3 fault crash\n20 n3 fault restart id=2\n20 c1 invoke acquire\n21 c1 ok acquire c1#1 until=15"},
				{"after that of another", "0 c2 invoke acquire\n1 c2 ok acquire c2#1 until=5\n10 n3 fault restart id=2"},
				{"after an earlier lease", c1 + "11 c1 invoke acquire\n12 c1 ok acquire c1#2 until=22\n13 n3 fault restart id=2"},
			},
		},
		{
			must: "n3 restarts before the lease of c1 ended",
			met:  []situation{{"it does", c1 + "1 n3 fault crash\n9 n3 fault restart id=2"}},
			unmet: []situation{
				{"by the healing at the end", c1 + "1 n3 fault crash\n9 n3 fault restart"}, {"after", c1 + "1 n3 fault crash\n11 n3 fault restart id=2"}, {"at its end", c1 + "1 n3 fault crash\n10 n3 fault restart id=2"}, {"another", c1 + "1 n2 fault restart id=2"},
				{"before there was one", "0 n3 fault restart id=2\n" + c1},
			},
		},
		{
			must: "write A arrives after its lease ended",
			met:  []situation{{"accepted", c1 + "11 resource accept A c1#1"}, {"refused", c1 + "11 resource reject A c1#1"}},
			unmet: []situation{
				{"before", c1 + "9 resource accept A c1#1"}, {"at its end", c1 + "10 resource accept A c1#1"}, {"another write", c1 + "11 resource accept B c1#1"},
				{"without a lease", c1 + "11 resource accept A by=c1"}, {"not at all", c1 + "11 c1 invoke write A"},
			},
		},
		{
			must:  "write A arrives before write B",
			met:   []situation{{"it does", "1 resource accept A c1#1\n1 resource accept B c2#1"}, {"refused", "1 resource reject A c1#1\n1 resource reject B c2#1"}},
			unmet: []situation{{"after", "1 resource accept B c2#1\n1 resource accept A c1#1"}, {"alone", "1 resource accept A c1#1"}, {"B alone", "1 resource accept B c1#1"}},
		},
		{
			must: "c1 acquires with n2 n3 down",
			met:  []situation{{"it does", "0 n3 fault crash\n0 n2 fault crash\n" + c1}, {"again", "0 n3 fault crash\n0 n3 fault restart\n0 n3 fault crash\n0 n2 fault crash\n" + c1}},
			unmet: []situation{
				{"one is up", "0 n3 fault crash\n" + c1}, {"back up", "0 n3 fault crash\n0 n2 fault crash\n0 n2 fault restart\n" + c1}, {"down later", c1 + "1 n3 fault crash\n1 n2 fault crash"},
				{"refused", "0 n3 fault crash\n0 n2 fault crash\n0 c1 invoke acquire\n1 c1 fail acquire"},
			},
		},
		{
			must: "c1 tries with n2 n3 down",
			met: []situation{{"and is refused", "0 n3 fault crash\n0 n2 fault crash\n0 c1 invoke acquire\n1 c1 fail acquire"}, {"and acquires", "0 n3 fault crash\n0 n2 fault crash\n" + c1},
				{"until they are up again", "0 n3 fault crash\n0 n2 fault crash\n0 c1 invoke acquire\n1 n2 fault restart\n2 c1 ok acquire c1#1 until=9"},
				{"since before they crashed, and acquires", "0 c1 invoke acquire\n1 n3 fault crash\n1 n2 fault crash\n2 c1 ok acquire c1#1 until=9"}},
			unmet: []situation{
				{"one is up", "0 n3 fault crash\n0 c1 invoke acquire\n1 c1 fail acquire"}, {"not at all", "0 n3 fault crash\n0 n2 fault crash\n"},
				{"another does", "0 n3 fault crash\n0 n2 fault crash\n0 c2 invoke acquire\n1 c2 fail acquire"},
			},
		},
		{
			must: "c1 tries with n2 n3 paused",
			met:  []situation{{"it does", "0 n3 fault pause\n0 n2 fault pause\n0 c1 invoke acquire"}},
			unmet: []situation{
				{"one runs", "0 n3 fault pause\n0 c1 invoke acquire"}, {"one runs again", "0 n3 fault pause\n0 n2 fault pause\n1 n2 fault resume\n2 c1 invoke acquire"}, {"too late", "0 c1 invoke acquire\n0 n3 fault pause\n0 n2 fault pause"},
				{"another", "0 n3 fault pause\n0 n2 fault pause\n0 c2 invoke acquire"}, {"they are down", "0 n3 fault crash\n0 n2 fault crash\n0 c1 invoke acquire"},
			},
		},
		{
			must: "c1 crashes while it holds",
			met:  []situation{{"it does", c1 + "5 c1 fault crash"}},
			unmet: []situation{
				{"not at all", c1}, {"too late", c1 + "11 c1 fault crash"}, {"after the release", c1 + "1 c1 invoke release c1#1\n5 c1 fault crash"}, {"another", c1 + "5 c2 fault crash"},
			},
		},
		{
			must: "c2 waits for c1",
			met:  []situation{{"and gets it", c1 + "1 c2 invoke acquire\n11 c2 ok acquire c2#1 until=20"}, {"and is refused", c1 + "1 c2 invoke acquire\n2 c2 fail acquire"}, {"and began earlier", "0 c2 invoke acquire\n" + c1 + "2 c2 fail acquire"}},
			unmet: []situation{
				{"too early", "0 c2 invoke acquire\n0.1 c2 fail acquire\n" + c1}, {"too late", c1 + "10 c2 invoke acquire\n11 c2 fail acquire"},
				{"after the release", c1 + "1 c1 invoke release c1#1\n1 c2 invoke acquire\n11 c2 fail acquire"}, {"unanswered", c1 + "1 c2 invoke acquire"}, {"nobody can tell", c1 + "1 c2 invoke acquire\n2 c2 info acquire"},
				{"another lock", c1 + "1 c2 invoke acquire lock=b\n2 c2 fail acquire lock=b"}, {"another client", c1 + "1 c3 invoke acquire\n2 c3 fail acquire"},
			},
		},
		{
			must: "some client waits for another",
			met:  []situation{{"it does", c1 + "1 c2 invoke acquire\n2 c2 fail acquire"}},
			unmet: []situation{
				{"alone", c1}, {"for itself", c1 + "1 c1 invoke acquire\n2 c1 fail acquire"}, {"one after the other", c1 + "11 c2 invoke acquire\n12 c2 ok acquire c2#1 until=20"},
			},
		},
		{
			must: "c1 reaches only n1 n2",
			met: []situation{
				{"it does", "0 c1 invoke acquire\n1 n2 deliver c1\n1 n1 deliver c1\n2 n1 deliver c1\n3 c1 fail acquire"},
				{"it does not know the outcome", "0 c1 invoke acquire\n1 n1 deliver c1\n1 n2 deliver c1\n3 c1 info acquire"},
				{"later another", "0 c1 invoke acquire\n1 n1 deliver c1\n1 n2 deliver c1\n3 c1 fail acquire\n4 n3 deliver c1"},
				{"with others about", "0 c1 invoke acquire\n1 n1 deliver c1\n1 n2 deliver c1\n2 n3 deliver c2\n2 n3 drop c1\n2 resource deliver c1\n3 c1 fail acquire"},
			},
			unmet: []situation{
				{"more", "0 c1 invoke acquire\n1 n1 deliver c1\n1 n2 deliver c1\n1 n3 deliver c1\n3 c1 fail acquire"}, {"fewer", "0 c1 invoke acquire\n1 n1 deliver c1\n3 c1 fail acquire"},
				{"too late", "0 c1 invoke acquire\n1 n1 deliver c1\n3 c1 fail acquire\n4 n2 deliver c1"}, {"unanswered", "0 c1 invoke acquire\n1 n1 deliver c1\n1 n2 deliver c1"},
				{"in a release", "0 c1 invoke release c1#1\n1 n1 deliver c1\n1 n2 deliver c1\n3 c1 ok release c1#1"}, {"another returns", "0 c2 invoke acquire\n1 n1 deliver c1\n1 n2 deliver c1\n3 c2 fail acquire"},
				{"before it asks", "0 n1 deliver c1\n0 n2 deliver c1\n1 c1 invoke acquire"},
			},
		},
		{
			must: "c1 is first at n1 n2",
			met:  []situation{{"it is", "0 n1 set c1#1\n0 n2 set c1#1\n0 n3 set c2#1\n1 n1 delete c1#1\n2 n1 set c2#2"}},
			unmet: []situation{
				{"at one of them", "0 n1 set c1#1\n0 n2 set c2#1"}, {"at one of them only", "0 n1 set c1#1"}, {"second", "0 n1 set c2#1\n0 n2 set c1#1\n1 n1 delete c2#1\n2 n1 set c1#1"},
			},
		},
		{
			must:  "a request from c1 to n1 takes over 12s",
			met:   []situation{{"too late for its receiver", "15 n1 late c1 sent=1"}, {"it does", "15 n1 deliver c1 sent=2.9"}, {"from the first instant", "15 n1 deliver c1"}},
			unmet: []situation{{"exactly", "15 n1 deliver c1 sent=3"}, {"another", "15 n1 deliver c2 sent=1"}, {"elsewhere", "15 n2 deliver c1 sent=1"}, {"lost", "15 n1 drop c1 sent=1"}, {"the reply", "15 c1 deliver n1 sent=1"}},
		},
		{
			must:  "a reply from n1 to c1 takes over 12s",
			met:   []situation{{"it does", "15 c1 deliver n1 sent=2.9"}},
			unmet: []situation{{"exactly", "15 c1 deliver n1 sent=3"}, {"another", "15 c2 deliver n1 sent=1"}, {"the request", "15 n1 deliver c1 sent=1"}},
		},
		{
			must: "c1 acquires on r1",
			met:  []situation{{"promoted", "0 c1 invoke acquire\n0.1 r1 set c1#1\n0.2 n2 set c1#1\n0.3 c1 ok acquire c1#1 until=9"}},
			unmet: []situation{
				{"on others", c1}, {"a copy", "0 c1 invoke acquire\n0.1 n1 set c1#1\n0.1 r1 set c1#1 by=n1\n0.2 n2 set c1#1\n0.3 c1 ok acquire c1#1 until=9"},
				{"another", "0 c2 invoke acquire\n0.1 r1 set c2#1\n0.2 n2 set c2#1\n0.3 c2 ok acquire c2#1 until=9"}, {"gone before the grant", "0 c1 invoke acquire\n0.1 r1 set c1#1\n0.1 r1 lose c1#1\n0.2 n2 set c1#1\n0.2 n3 set c1#1\n0.3 c1 ok acquire c1#1 until=9"},
			},
		},
		{
			must:  "c1 acquires with under 2s left",
			met:   []situation{{"it does", "0 c1 invoke acquire\n8.1 c1 ok acquire c1#1 until=10"}, {"by its own clock", "0 c1 invoke acquire\n5 c1 ok acquire c1#1 until=10 clock=9"}},
			unmet: []situation{{"more", "0 c1 invoke acquire\n8 c1 ok acquire c1#1 until=10"}, {"no end", "0 c1 invoke acquire\n8 c1 ok acquire c1#1 until=never"}, {"another", "0 c2 invoke acquire\n8.1 c2 ok acquire c2#1 until=10"}},
		},
		{
			must: "3 clients wait at once",
			met: []situation{
				{"they do", c1 + "1 c2 invoke acquire\n2 c3 invoke acquire\n3 c4 invoke acquire\n4 c4 fail acquire"},
				{"with tries in a row", c1 + "1 c2 invoke acquire\n1 c3 invoke acquire\n1 c4 invoke acquire\n2 c2 fail acquire\n2 c3 fail acquire\n2.1 c2 invoke acquire\n2.2 c3 invoke acquire\n3 c4 fail acquire"},
				{"since before it was taken", "0 c2 invoke acquire\n0 c3 invoke acquire\n0 c4 invoke acquire\n" + c1 + "1 c4 fail acquire"},
				{"under a later lease", c1 + "12 c1 invoke acquire\n12.1 c1 ok acquire c1#2 until=22\n13 c2 invoke acquire\n13 c3 invoke acquire\n13 c4 invoke acquire\n14 c4 fail acquire"},
			},
			unmet: []situation{
				{"two", c1 + "1 c2 invoke acquire\n2 c3 invoke acquire"}, {"nobody holds", "1 c2 invoke acquire\n2 c3 invoke acquire\n3 c4 invoke acquire\n4 c4 fail acquire"},
				{"one after the other", c1 + "1 c2 invoke acquire\n1 c3 invoke acquire\n2 c2 fail acquire\n2 c4 invoke acquire\n3 c4 fail acquire"},
				{"after the lease", c1 + "11 c2 invoke acquire\n12 c3 invoke acquire\n13 c4 invoke acquire\n14 c4 fail acquire"}, {"with the probe", "probe c4\n" + c1 + "1 c2 invoke acquire\n2 c3 invoke acquire\n3 c4 invoke acquire\n4 c4 fail acquire"},
				{"another lock", c1 + "1 c2 invoke acquire\n2 c3 invoke acquire\n3 c4 invoke acquire lock=b\n4 c4 fail acquire lock=b"},
			},
		},
		{
			must:  "c1 and c2 acquire at once",
			met:   []situation{{"they do", "0 c1 invoke acquire\n1 c2 invoke acquire\n2 c1 fail acquire"}, {"the other way round", "0 c2 invoke acquire\n1 c1 invoke acquire"}},
			unmet: []situation{{"one after the other", c1 + "1 c2 invoke acquire"}, {"at the same instant", "0 c1 invoke acquire\n1 c1 fail acquire\n1 c2 invoke acquire"}, {"another", "0 c1 invoke acquire\n0 c3 invoke acquire"}, {"something else", "0 c1 invoke acquire\n1 c2 invoke release"}},
		},
		{
			must:  "c1 and c2 increment at once",
			met:   []situation{{"they do", "0 c1 invoke increment\n1 c2 invoke increment\n2 c1 ok increment 1"}},
			unmet: []situation{{"one after the other", "0 c1 invoke increment\n1 c1 ok increment 1\n1 c2 invoke increment"}, {"one asks", "0 c1 invoke increment\n1 c2 invoke acquire"}},
		},
		{
			must: "c1 and c2 draw the same token",
			met: []situation{
				{"they do", "1 n1 deliver c1 SET_lock_1700_NX_PX_10000\n2 n2 deliver c2 SET_lock_1700_NX_PX_10000"}, {"lost on the way", "1 n1 drop c1 SETNX_lock_1700\n2 n1 late c2 SET_lock_1700_NX"},
			},
			unmet: []situation{
				{"they do not", "1 n1 deliver c1 SET_lock_1700_NX_PX_10000\n2 n2 deliver c2 SET_lock_1701_NX_PX_10000"}, {"one of them twice", "1 n1 deliver c1 SET_lock_1700\n2 n2 deliver c1 SET_lock_1700"},
				{"another", "1 n1 deliver c1 SET_lock_1700\n2 n2 deliver c3 SET_lock_1700"}, {"no token", "1 n1 deliver c1 GET_lock\n2 n2 deliver c2 GET_lock"},
			},
		},
		{
			must:  "c2 acquires while c1 releases",
			met:   []situation{{"it does", c1 + "1 c1 invoke release c1#1\n2 c2 invoke acquire\n3 c2 ok acquire c2#1 until=9"}, {"asked before", c1 + "1 c2 invoke acquire\n2 c1 invoke release c1#1\n3 c2 ok acquire c2#1 until=9\n4 c1 ok release c1#1"}},
			unmet: []situation{{"after", c1 + "1 c1 invoke release c1#1\n2 c1 ok release c1#1\n2 c2 invoke acquire\n3 c2 ok acquire c2#1 until=9"}, {"before", c1 + "1 c2 invoke acquire\n3 c2 ok acquire c2#1 until=9\n4 c1 invoke release c1#1"}, {"refused", c1 + "1 c1 invoke release c1#1\n2 c2 invoke acquire\n3 c2 fail acquire"}},
		},
		{
			must:  "c1 acquires while its wall clock jumps",
			met:   []situation{{"it does", "0 c1 invoke acquire\n1 c1 fault jump\n2 c1 ok acquire c1#1 until=9"}, {"slewed", "0 c1 invoke acquire\n1 c1 fault slew\n2 c1 fail acquire"}},
			unmet: []situation{{"after", c1 + "1 c1 fault jump"}, {"before", "0 c1 fault jump\n" + c1}, {"another", "0 c1 invoke acquire\n1 c2 fault jump"}, {"a drift", "0 c1 invoke acquire\n1 c1 fault drift ppm=5"}},
		},
		{
			must:  "c1 sees no TTL",
			met:   []situation{{"it does", "1 n1 deliver c1 TTL_lock\n2 c1 deliver n1 -1"}, {"in milliseconds", "1 n1 deliver c1 PTTL_lock\n2 c1 deliver n1 -1"}},
			unmet: []situation{{"no key", "1 n1 deliver c1 TTL_lock\n2 c1 deliver n1 -2"}, {"no answer", "1 n1 deliver c1 TTL_lock\n2 c1 drop n1 -1"}, {"another question", "1 n1 deliver c1 TTL_lock\n1 n1 deliver c1 GET_lock\n2 c1 deliver n1 -1"}, {"another node", "1 n1 deliver c1 TTL_lock\n2 c1 deliver n2 -1"}, {"another client", "1 n1 deliver c2 TTL_lock\n2 c2 deliver n1 -1"}},
		},
		{
			must:  "c1 crashes while it acquires",
			met:   []situation{{"it does", "0 c1 invoke acquire\n0.1 n1 set c1#1\n1 c1 fault crash"}},
			unmet: []situation{{"without a key", "0 c1 invoke acquire\n1 c1 fault crash\n2 n1 set c1#1"}, {"the key is gone", "0 c1 invoke acquire\n0.1 n1 set c1#1\n0.2 n1 delete c1#1\n1 c1 fault crash"}, {"a key of before", "0 n1 set c1#0\n0 c1 invoke acquire\n1 c1 fault crash"}, {"afterwards", c1 + "1 c1 fault crash"}, {"another", "0 c1 invoke acquire\n0.1 n1 set c1#1\n1 c2 fault crash"}},
		},
		{
			must: "c1 is cut off while it holds",
			met:  []situation{{"it is", c1 + "1 c1-n1 fault cut cut_c1-n1\n2 c1-n2 fault hold hold_c1-n2"}, {"one way", c1 + "1 c1->n1 fault cut cut_c1->n1\n2 n2->c1 fault cut cut_n2->c1"}, {"since before", "0 c1-n1 fault cut cut_c1-n1\n0 c1-n2 fault cut cut_c1-n2\n" + c1}},
			unmet: []situation{{"from one", c1 + "1 c1-n1 fault cut cut_c1-n1"}, {"in turn", c1 + "1 c1-n1 fault cut cut_c1-n1\n2 c1-n1 fault heal heal_c1-n1\n2 c1-n2 fault cut cut_c1-n2"}, {"too late", c1 + "10 c1-n1 fault cut cut_c1-n1\n10 c1-n2 fault cut cut_c1-n2"}, {"another", c1 + "1 c2-n1 fault cut cut_c2-n1\n2 c2-n2 fault cut cut_c2-n2"}, {"healed before", "0 c1-n1 fault cut cut_c1-n1\n0 c1-n2 fault cut cut_c1-n2\n0 x fault heal heal\n" + c1},
				{"another holds", "0 c2 invoke acquire\n0.1 c2 ok acquire c2#1 until=10\n1 c1-n1 fault cut cut_c1-n1\n2 c1-n2 fault cut cut_c1-n2"},
				{"its lease was over when it got it", "0 c1-n1 fault cut cut_c1-n1\n0 c1-n2 fault cut cut_c1-n2\n0 c1 invoke acquire\n11 c1 ok acquire c1#1 until=10"}},
		},
		{
			must:  "c1 resumes after c2 acquired",
			met:   []situation{{"it does", c1 + "1 c1 fault pause\n11 c2 invoke acquire\n12 c2 ok acquire c2#1 until=22\n13 c1 fault resume"}},
			unmet: []situation{{"it does not", c1 + "1 c1 fault pause\n11 c2 invoke acquire\n12 c2 ok acquire c2#1 until=22"}, {"before", c1 + "1 c1 fault pause\n11 c2 invoke acquire\n11.5 c1 fault resume\n12 c2 ok acquire c2#1 until=22"}, {"refused", c1 + "1 c1 fault pause\n11 c2 invoke acquire\n12 c2 fail acquire\n13 c1 fault resume"}, {"acquired earlier", "0 c2 invoke acquire\n0 c2 ok acquire c2#1 until=5\n1 c1 fault pause\n2 c1 fault resume"}, {"a third did", c1 + "1 c1 fault pause\n11 c3 invoke acquire\n12 c3 ok acquire c3#1 until=22\n13 c1 fault resume"}},
		},
		{
			must:  "c1 releases after its lease ended",
			met:   []situation{{"it does", c1 + "11 c1 invoke release c1#1"}},
			unmet: []situation{{"before", c1 + "9 c1 invoke release c1#1"}, {"at its end", c1 + "10 c1 invoke release c1#1"}, {"extended", c1 + "9 c1 invoke extend c1#1\n9.1 c1 ok extend c1#1 until=19\n11 c1 invoke release c1#1"}, {"another", c1 + "11 c2 invoke release c1#1"}},
		},
		{
			must:  "c1 extends before its lease ended",
			met:   []situation{{"it does", c1 + "9 c1 invoke extend c1#1"}, {"again", c1 + "9 c1 invoke extend c1#1\n9.1 c1 ok extend c1#1 until=19\n11 c1 invoke extend c1#1"}},
			unmet: []situation{{"after", c1 + "11 c1 invoke extend c1#1\n11.1 c1 ok extend c1#1 until=21"}, {"not at all", c1}, {"another lease", c1 + "9 c1 invoke extend c1#9"}},
		},
		{
			must:  "c1 extends after its lease ended",
			met:   []situation{{"it does", c1 + "11 c1 invoke extend c1#1"}, {"with success", c1 + "11 c1 invoke extend c1#1\n11.1 c1 ok extend c1#1 until=21"}},
			unmet: []situation{{"before", c1 + "9 c1 invoke extend c1#1"}, {"before its new end", c1 + "9 c1 invoke extend c1#1\n9.1 c1 ok extend c1#1 until=19\n11 c1 invoke extend c1#1"}, {"at its end", c1 + "10 c1 invoke extend c1#1"}},
		},
		{
			must:  "c1 extends with n1 n2 down",
			met:   []situation{{"and is refused", c1 + "1 n1 fault crash\n1 n2 fault stop\n2 c1 invoke extend c1#1\n3 c1 fail extend c1#1"}, {"and is not", c1 + "1 n1 fault crash\n1 n2 fault crash\n2 c1 invoke extend c1#1\n3 c1 ok extend c1#1 until=13"}},
			unmet: []situation{{"one is up", c1 + "1 n1 fault crash\n2 c1 invoke extend c1#1\n3 c1 fail extend c1#1"}, {"unanswered", c1 + "1 n1 fault crash\n1 n2 fault crash\n2 c1 invoke extend c1#1"}, {"acquires", "0 n1 fault crash\n0 n2 fault crash\n" + c1}},
		},
		{
			must: "c1 renews",
			met: []situation{
				{"it does", c1 + "3 c1 info renew c1#1 until=13"},
				{"its node shows it", c1 + "3 n1 retime c1#1 until=13"},
				{"its node shows it after an extension", c1 + "2 c1 invoke extend c1#1\n2 c1 ok extend c1#1 until=12\n3 n1 retime c1#1 until=13"},
				{"its node shows it while it writes", c1 + "2 c1 invoke write A c1#1\n3 n1 retime c1#1 until=13"},
			},
			unmet: []situation{
				{"not at all", c1}, {"another", "3 c2 info renew c2#1 until=13"}, {"extends", c1 + "3 c1 invoke extend c1#1\n3 c1 ok extend c1#1 until=13"},
				{"extends, and its node shows it", c1 + "3 c1 invoke extend c1#1\n3.1 n1 retime c1#1 until=13\n3.2 c1 ok extend c1#1 until=13"},
				{"extends, and its node is late", c1 + "3 c1 invoke extend c1#1\n3.2 c1 info extend c1#1\n4 n1 retime c1#1 until=13 sent=3.1"},
				{"another gives it time", c1 + "3 n1 retime c1#1 until=13 by=c2"},
			},
		},
		{
			must: "c1 writes what it read before c2 wrote",
			met: []situation{
				{"it does", "0 c1 invoke read\n0.1 c1 ok read\n1 resource accept B by=c2\n2 resource accept A by=c1"}, {"both refused", "0 c1 invoke read\n0.1 c1 ok read\n1 resource reject B by=c2\n2 resource reject A by=c1"},
				{"kept", "0 c1 invoke read\n0.1 c1 ok read\n1 resource keep B by=c2\n2 resource keep A by=c1"},
			},
			unmet: []situation{
				{"read again", "0 c1 invoke read\n0.1 c1 ok read\n1 resource accept B by=c2\n1.1 c1 invoke read\n1.2 c1 ok read\n2 resource accept A by=c1"}, {"read later", "1 resource accept B by=c2\n1.1 c1 invoke read\n1.2 c1 ok read\n2 resource accept A by=c1"},
				{"writes first", "0 c1 invoke read\n0.1 c1 ok read\n1 resource accept A by=c1\n2 resource accept B by=c2"}, {"never read", "1 resource accept B by=c2\n2 resource accept A by=c1"}, {"never writes", "0 c1 invoke read\n0.1 c1 ok read\n1 resource accept B by=c2"},
			},
		},
		{
			must:  "c1 enters after c2",
			met:   []situation{{"it does", "0 resource mark c2#1\n1 resource mark c1#1"}},
			unmet: []situation{{"before", "0 resource mark c1#1\n1 resource mark c2#1"}, {"alone", "0 resource mark c1#1\n0 resource mark c1#2"}, {"writes", "0 resource mark c2#1\n1 resource accept A c1#1"}},
		},
		{
			must:  "n3 restarts after the lease of c1 ended by its wall clock",
			met:   []situation{{"it does", c1 + "1 n3 fault crash\n3 n3 fault restart id=2 wall=7.1"}},
			unmet: []situation{{"before", c1 + "1 n3 fault crash\n3 n3 fault restart id=2 wall=7"}, {"by the healing", c1 + "1 n3 fault crash\n3 n3 fault restart wall=8"}, {"another", c1 + "1 n2 fault crash\n3 n2 fault restart id=2 wall=8"}},
		},
		{
			must:  "n2 restarts with the key of c1",
			met:   []situation{{"it does", c1 + "1 n2 fault crash\n2 n2 fault restart id=2"}, {"until later", c1 + "1 n2 fault stop\n2 n2 fault restart id=2\n3 n2 expire c1#1"}},
			unmet: []situation{{"without", c1 + "1 n2 fault crash\n2 n2 fault restart id=2\n2 n2 lose c1#1"}, {"lost at once", c1 + "1 n2 fault crash\n1 n2 lose c1#1\n2 n2 fault restart id=2"}, {"it had expired", c1 + "1 n2 fault crash\n12 n2 fault restart id=2\n12 n2 expire c1#1"}, {"it never had one", c1 + "1 n3 fault crash\n2 n3 fault restart id=2"}, {"it stays away", c1 + "1 n2 fault crash"}, {"by the healing", c1 + "1 n2 fault crash\n2 n2 fault restart"}},
		},
		{
			must:  "n2 restarts without the key of c1",
			met:   []situation{{"it does", c1 + "1 n2 fault crash\n2 n2 fault restart id=2\n2 n2 lose c1#1"}, {"lost at once", c1 + "1 n2 fault crash\n1 n2 lose c1#1\n2 n2 fault restart id=2"}},
			unmet: []situation{{"with", c1 + "1 n2 fault crash\n2 n2 fault restart id=2"}, {"it had expired", c1 + "1 n2 fault crash\n12 n2 fault restart id=2\n12 n2 expire c1#1"}, {"lost before", c1 + "1 n2 lose c1#1\n1.1 n2 fault crash\n2 n2 fault restart id=2"}, {"that of another", "0 n2 set c2#1\n1 n2 fault crash\n2 n2 fault restart id=2\n2 n2 lose c2#1"}},
		},
		{
			must:  "r1 is promoted with the key of c1",
			met:   []situation{{"it is", c1 + "1 r1 set c1#1 by=n1\n2 r1 promote"}, {"its own clock ended it", c1 + "1 r1 set c1#1 by=n1\n1.5 r1 expire c1#1\n2 r1 promote"}},
			unmet: []situation{{"without", c1 + "2 r1 promote"}, {"too late", c1 + "2 r1 promote\n3 r1 set c1#1 by=n1"}, {"not at all", c1 + "1 r1 set c1#1 by=n1"}, {"another is", c1 + "1 r1 set c1#1 by=n1\n2 n1 promote"}, {"in vain", c1 + "1 r1 set c1#1 by=n1\n2 r1 fault promote"}, {"released", c1 + "1 r1 set c1#1 by=n1\n1.1 n1 delete c1#1\n1.2 r1 delete c1#1 by=n1\n2 r1 promote"}, {"ended in time", c1 + "1 r1 set c1#1 by=n1\n10.1 n1 expire c1#1\n10.1 r1 delete c1#1 by=n1\n12 r1 promote"}},
		},
		{
			must:  "r1 is promoted without the key of c1",
			met:   []situation{{"it is", c1 + "2 r1 promote"}, {"the primary lost it", c1 + "1 n1 lose c1#1\n2 r1 promote"}, {"it comes too late", c1 + "2 r1 promote\n3 r1 set c1#1 by=n1"}},
			unmet: []situation{{"with", c1 + "1 r1 set c1#1 by=n1\n2 r1 promote"}, {"its own clock ended it", c1 + "1 r1 set c1#1 by=n1\n1.5 r1 expire c1#1\n2 r1 promote"}, {"there was none", "2 r1 promote\n" + c1}, {"released", c1 + "1 n1 delete c1#1\n2 r1 promote"}, {"over", c1 + "11 r1 promote"}, {"of another client", strings.ReplaceAll(c1, "c1", "c2") + "2 r1 promote"}, {"of another node", "0 c1 invoke acquire\n0.1 n2 set c1#1\n0.1 n3 set c1#1\n0.2 c1 ok acquire c1#1 until=10\n2 r1 promote"}},
		},
		{
			must:  "r1 never has the key of c1",
			met:   []situation{{"it has not", c1}, {"promoted", c1 + "1 r1 promote"}, {"that of another", c1 + "1 r1 set c2#1 by=n1"}},
			unmet: []situation{{"it has", c1 + "1 r1 set c1#1 by=n1"}, {"at last", c1 + "1 r1 promote\n20 r1 set c1#1"}, {"nobody has", "0 r1 promote"}, {"another node has", "0 n2 set c1#1"}},
		},
		{
			must:  "r1 is promoted without the last fence",
			met:   []situation{{"it has none", "0 n1 set 33 key=lock:fence by=c1\n1 r1 promote"}, {"it has an older one", "0 n1 set 33 key=lock:fence by=c1\n0.1 r1 set 33 key=lock:fence by=n1\n0.2 n1 over 34 key=lock:fence by=c1\n1 r1 promote"}},
			unmet: []situation{{"it has it", "0 n1 set 33 key=lock:fence by=c1\n0.1 r1 set 33 key=lock:fence by=n1\n1 r1 promote"}, {"there is none", "1 r1 promote"}, {"it was lost before", "0 n1 set 33 key=lock:fence by=c1\n0.5 n1 lose key=lock:fence\n1 r1 promote"}, {"drawn later", "1 r1 promote\n2 n1 set 33 key=lock:fence by=c1"}, {"another key", "0 n1 set 33 key=other by=c1\n1 r1 promote"}},
		},
		{
			must: "n3 does not answer while c1 tries",
			met: []situation{
				{"it is paused", "0 c1 invoke acquire\n1 n3 fault pause\n5 c1 fail acquire"}, {"it is cut off", "0 n3->c1 fault cut cut_n3->c1\n0 c1 invoke acquire\n5 c1 fail acquire"}, {"it was asked", "0 c1 invoke acquire\n1 n3 deliver c1 sent=0.5\n5 c1 fail acquire"},
				{"others do", "0 c1 invoke acquire\n1 n3 deliver c1 sent=0.5\n2 c1 deliver n2 sent=1\n5 c1 fail acquire"},
				{"it was asked, and hears of it later", "0 c1 invoke acquire\n5 c1 fail acquire\n20 n3 deliver c1 sent=0.5"}, {"it answers after half a TTL", "0 c1 invoke acquire\n1 n3 deliver c1 sent=0.5\n2 c1 deliver n3 sent=1\n2.1 n3 deliver c1 sent=2\n8 c1 deliver n3 sent=7.9\n9 c1 fail acquire"}, {"it answers later", "0 c1 invoke acquire\n1 n3 deliver c1 sent=0.5\n5 c1 fail acquire\n20 c1 deliver n3 sent=0.5"},
			},
			unmet: []situation{
				{"it answers", "0 c1 invoke acquire\n1 n3 deliver c1 sent=0.5\n2 c1 deliver n3 sent=1\n5 c1 fail acquire"}, {"it answers just in time", "0 c1 invoke acquire\n1 n3 deliver c1 sent=0.5\n2 c1 deliver n3 sent=1\n2.1 n3 deliver c1 sent=2\n7 c1 deliver n3 sent=6.9\n9 c1 fail acquire"}, {"it was not asked", "0 c1 invoke acquire\n5 c1 fail acquire\n6 n3 deliver c1 sent=5.5"},
				{"it is down", "0 n3 fault crash\n0 c1 invoke acquire\n1 n3 drop c1 sent=0.5\n5 c1 fail acquire"}, {"nobody tries", "1 n3 fault pause"}, {"another", "0 c1 invoke acquire\n1 n2 fault pause\n5 c1 fail acquire"},
			},
		},
		{
			must:  "a request from c1 to n1 is lost",
			met:   []situation{{"it is", "1 n1 drop c1"}},
			unmet: []situation{{"late", "1 n1 late c1"}, {"the reply", "1 c1 drop n1"}, {"another", "1 n1 drop c2"}, {"to another node", "1 n2 drop c1"}},
		},
		{
			must:  "a reply from n1 to c1 is lost",
			met:   []situation{{"it is", "1 c1 drop n1"}},
			unmet: []situation{{"delivered", "1 c1 deliver n1"}, {"the request", "1 n1 drop c1"}, {"another", "1 c1 drop n2"}, {"to another client", "1 c2 drop n1"}},
		},
		{
			must:  "the wall clock of c1 is off by over 2s",
			met:   []situation{{"ahead", "1 c1 invoke acquire wall=2.1"}, {"behind", "1 c1 invoke acquire wall=-2.1"}},
			unmet: []situation{{"exactly", "1 c1 invoke acquire wall=2"}, {"another", "1 c2 invoke acquire wall=3"}, {"after the end", "probe c9\n1 c9 invoke acquire\n2 c1 fault restart wall=3"}, {"the steady one", "5 c1 invoke acquire clock=1"}},
		},
		{
			must:  "the steady clock of c1 is off by over 2s",
			met:   []situation{{"behind", "5 c1 invoke acquire clock=2.9"}, {"ahead", "5 c1 invoke acquire clock=7.1"}},
			unmet: []situation{{"exactly", "5 c1 invoke acquire clock=3"}, {"another", "5 c2 invoke acquire clock=1"}, {"the wall clock", "5 c1 invoke acquire wall=9"}},
		},
	} {
		t.Run(strings.ReplaceAll(c.must, " ", "-"), func(t *testing.T) {
			m := parseMust(t, c.must)
			for _, s := range c.met {
				if !m.Met(facts.Of(handmade.History(t, "nodes 3\nreplica r1\n"+s.text))) {
					t.Errorf("unmet where it should be met (%s):\n%s", s.name, s.text)
				}
			}
			for _, s := range c.unmet {
				if m.Met(facts.Of(handmade.History(t, "nodes 3\nreplica r1\n"+s.text))) {
					t.Errorf("met where it should not be (%s):\n%s", s.name, s.text)
				}
			}
			if len(c.met) == 0 || len(c.unmet) == 0 {
				t.Error("one side is missing")
			}
			covered[m.form] = true
		})
	}
	for _, form := range forms() {
		if !covered[form] {
			t.Errorf("no story for %q", form)
		}
	}
}

func TestMustRoundTrip(t *testing.T) {
	seen := map[string]bool{}
	for _, s := range []string{
		"c1 acquires", "c1 is refused", "c12 pauses after a passed check", "c1 resumes after its lease ended", "probe acquires",
		"c1 resumes after its keys ended", "c1 holds exactly n1", "c1 holds exactly n3 n1 n2", "n3 drops the key of c1 early",
		"n3 keeps the key of c1 late", "n3 restarts after the lease of c1 ended", "n3 restarts before the lease of c1 ended",
		"write A arrives after its lease ended", "write A arrives before write B", "c1 acquires with n1 n2 down",
		"c1 tries with n1 n2 n3 down", "c1 waits for c2", "a request from c1 to n1 takes over 12s",
		"a request from c1 to resource takes over 90s", "a reply from n1 to c1 takes over 1500ms",
		"c2 acquires on r1", "10 clients wait at once", "c1 extends with s1 p2 r9 down", "the wall clock of resource is off by over 1s",
		"a request from c1 to s3 is lost",
	} {
		m := parseMust(t, s)
		if m.String() != s {
			t.Errorf("%q is printed as %q", s, m)
		}
		if again := parseMust(t, m.String()); again != m {
			t.Errorf("%q is parsed as %+v, and then as %+v", s, m, again)
		}
		if seen[fmt.Sprint(m)] {
			t.Errorf("%q prints as another must does", s)
		}
		seen[fmt.Sprint(m)] = true
	}
	if got := parseMust(t, "  c1   acquires "); got != parseMust(t, "c1 acquires") {
		t.Errorf("blanks count: %+v", got)
	}
}

// A must that is printed and parsed again is the same, whatever its names and numbers.
func TestMustRoundTripRandom(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := func(letter string) string { return fmt.Sprint(letter, rapid.IntRange(1, 20).Draw(t, "name")) }
		words := strings.Fields(rapid.SampledFrom(forms()).Draw(t, "form"))
		for i, w := range words {
			switch w {
			case "CLIENT", "RIVAL":
				words[i] = name("c")
			case "NODE", "SERVER", "PROCESS":
				words[i] = name(rapid.SampledFrom([]string{"n", "r", "s", "p"}).Draw(t, "kind"))
			case "COUNT":
				words[i] = fmt.Sprint(rapid.IntRange(2, 99).Draw(t, "count"))
			case "NODES":
				words[i] = name("n")
				for range rapid.IntRange(0, 4).Draw(t, "more") {
					words[i] += " " + name("n")
				}
			case "WRITE", "NEXT":
				words[i] = rapid.StringMatching(`[A-Za-z0-9#]+`).Draw(t, "value")
			case "LIMIT":
				words[i] = history.FormatDuration(time.Duration(rapid.Int64Range(1, int64(history.MaxDuration)).Draw(t, "limit")))
			}
		}
		s := strings.Join(words, " ")
		m, err := ParseMust(s)
		if err != nil {
			t.Fatal(err)
		}
		if m.String() != s {
			t.Fatalf("%q is printed as %q", s, m)
		}
	})
}

func TestParseMustErrors(t *testing.T) {
	for s, nearest := range map[string]string{
		"":                                       "",
		"c1 aquires":                             "CLIENT acquires",
		"x1 acquires":                            "",
		"c1 refused":                             "CLIENT is refused",
		"c1 resumes after the lease ended":       "CLIENT resumes after its lease ended",
		"c1 resumes after its keys expired":      "CLIENT resumes after its keys ended",
		"c1 holds exactly":                       "CLIENT holds exactly NODES",
		"c1 holds exactly n1 c2":                 "CLIENT holds exactly NODES",
		"n3 drops key of c1 early":               "NODE drops the key of CLIENT early",
		"n0 restarts after the lease of c1 ends": "NODE restarts after the lease of CLIENT ended",
		"n3 restarts before lease of c1 ended":   "NODE restarts before the lease of CLIENT ended",
		"write A arrives before B":               "",
		"c1 acquires with down":                  "CLIENT acquires with NODES down",
		"c1 acquires with n1 up":                 "CLIENT acquires with NODES down",
		"c1 acquires twice":                      "CLIENT acquires",
		"c1 waits for n1":                        "CLIENT waits for RIVAL",
		"1 clients wait at once":                 "COUNT clients wait at once",
		"02 clients wait at once":                "COUNT clients wait at once",
		"c1 acquires on c2":                      "CLIENT acquires on NODE",
		"r1 is promoted without the key of n1":   "NODE is promoted without the key of CLIENT",
		"a request from c1 to n1 takes over 12":  "a request from CLIENT to SERVER takes over LIMIT",
		"a reply from n1 to c1 takes over -1s":   "a reply from SERVER to CLIENT takes over LIMIT",
		"must c1 acquires":                       "CLIENT acquires",
	} {
		m, err := ParseMust(s)
		if err == nil {
			t.Errorf("%q is parsed as %+v", s, m)
			continue
		}
		want := fmt.Sprintf("unknown must %q; the musts are %s", s, strings.Join(forms(), ", "))
		if nearest != "" {
			want += fmt.Sprintf(" (did you mean %q?)", nearest)
		}
		if err.Error() != want {
			t.Errorf("%q:\n%v\nwant\n%s", s, err, want)
		}
	}
}

func TestZeroMust(t *testing.T) {
	if (Must{}).Met(facts.Of(handmade.History(t, "0 c1 invoke acquire"))) {
		t.Error("the zero Must demands nothing and is never met")
	}
}

func TestScaledMust(t *testing.T) {
	half := func(d time.Duration) time.Duration { return d / 2 }
	for s, want := range map[string]string{
		"c1 acquires":                            "c1 acquires",
		"a request from c1 to n1 takes over 12s": "a request from c1 to n1 takes over 6s",
		"c1 acquires with under 1s left":         "c1 acquires with under 500ms left",
	} {
		if got := parseMust(t, s).Scaled(half); got != parseMust(t, want) {
			t.Errorf("%q at double speed is %q, want %q", s, got, want)
		}
	}
}

func FuzzParseMust(f *testing.F) {
	for _, form := range forms() {
		f.Add(form)
	}
	f.Add("c1 holds exactly n1 n2 n3")
	f.Fuzz(func(t *testing.T, s string) {
		m, err := ParseMust(s)
		if err != nil {
			return
		}
		again, err := ParseMust(m.String())
		if err != nil || again != m {
			t.Errorf("%q is printed as %q, which is %+v, %v", s, m, again, err)
		}
	})
}

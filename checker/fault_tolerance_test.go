package checker

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"lockstep/checker/facts"
	"lockstep/checker/internal/handmade"
)

// tries has a client ask for the lock every 200 ms from one second to another, and be refused.
func tries(client string, from, to float64) string {
	var b strings.Builder
	for t := from; t < to-0.05; t += 0.2 {
		refused := t + 0.1
		if t+0.2 > to-0.05 {
			refused = to
		}
		fmt.Fprintf(&b, "%.1f %s invoke acquire\n%.1f %s fail acquire\n", t, client, refused, client)
	}
	return b.String()
}

// inOrder sorts the lines of a story by their instants; those without one come first.
func inOrder(t testing.TB, text string) string {
	t.Helper()
	type line struct {
		at   time.Duration
		text string
	}
	var headers, lines []line
	for l := range strings.SplitSeq(text, "\n") {
		words := strings.Fields(l)
		switch {
		case len(words) == 0:
		case len(words) < 3 && words[0][0] >= 'a':
			headers = append(headers, line{text: l})
		default:
			lines = append(lines, line{handmade.Instant(t, words[0]), l})
		}
	}
	for i := range lines {
		for j := i; j > 0 && lines[j].at < lines[j-1].at; j-- {
			lines[j], lines[j-1] = lines[j-1], lines[j]
		}
	}
	var b strings.Builder
	for _, l := range append(headers, lines...) {
		b.WriteString(l.text + "\n")
	}
	return b.String()
}

func TestFaultTolerance(t *testing.T) {
	const (
		five  = "nodes 5\n"
		held  = "0 c1 invoke acquire\n0.1 n1 set c1#1\n0.2 c1 ok acquire c1#1 until=10\n"
		held5 = "nodes 5\n0 c1 invoke acquire\n0.1 n1 set c1#1\n0.1 n2 set c1#1\n0.1 n3 set c1#1\n0.2 c1 ok acquire c1#1 until=10\n"
	)
	const short = "0 c1 invoke acquire ttl=2\n0.1 n1 set c1#1\n0.2 c1 ok acquire c1#1 until=2 ttl=2\n"
	const endless = "0 c1 invoke acquire\n0.1 n1 set c1#1 until=never\n"
	const setAgain = endless + "0.2 c1 ok acquire c1#1 until=10\n7 c1 invoke extend c1#1\n7.1 n1 over c1#1 was=c1#1 until=never\n7.2 c1 fault crash\n"
	behind := func(story string) string { return strings.ReplaceAll(story, "acquire\n", "acquire wall=-60\n") }
	misled := func(client string, from, to float64) []string {
		return []string{fmt.Sprintf("%s asked for the lock, and from %.3fs to %.3fs nobody got it, though nobody held it and n1 was up and in reach [bounded clock error]", client, from, to)}
	}
	vain := func(client string, from, to float64, nodes string) []string {
		return []string{fmt.Sprintf("%s asked for the lock, and from %.3fs to %.3fs nobody got it, though nobody held it and %s [none]", client, from, to, nodes)}
	}
	const all, four = "all nodes were up and in reach", "4 of 5 nodes were up and in reach"
	cases := []verdictCase{
		{name: "half a TTL is not too long", story: five + tries("c1", 0, 5)},
		{name: "all up, and nobody gets it", story: five + tries("c1", 0, 6), want: vain("c1", 0, 6, all)},
		{name: "a key without an end, whose owner crashed", story: endless + "0.2 c1 ok acquire c1#1 until=10\n7 c1 fault crash\n" + tries("c2", 10, 16), want: vain("c2", 10.11, 16, "n1 was up and in reach")},
		{name: "a key without an end, whose owner crashed right after an extension", story: endless + "0.2 c1 ok acquire c1#1 until=10\n7 c1 invoke extend c1#1\n7.1 n1 deliver c1 sent=7.05\n7.1 c1 fault crash\n" + tries("c2", 10, 17)},
		{name: "and long after that", story: endless + "0.2 c1 ok acquire c1#1 until=10\n7 c1 invoke extend c1#1\n7.1 n1 deliver c1 sent=7.05\n7.1 c1 fault crash\n" + tries("c2", 10, 23), want: vain("c2", 17.21, 23, "n1 was up and in reach")},
		{name: "a key without an end that an extension set again", story: setAgain + tries("c2", 10, 17)},
		{name: "and long after that, too", story: setAgain + tries("c2", 10, 23), want: vain("c2", 17.21, 23, "n1 was up and in reach")},
		{name: "a key without an end that an extension set again for longer", story: strings.Replace(setAgain, "extend c1#1", "extend c1#1 ttl=20", 1) + tries("c2", 10, 23)},
		{name: "a key without an end that nobody set again", story: strings.Replace(setAgain, "over c1#1", "over c1#1 by=nobody", 1) + tries("c2", 10, 17)},
		{name: "a key without an end that another client set again", story: strings.Replace(setAgain, "over c1#1", "over c1#1 by=c3", 1) + tries("c2", 10, 17), want: vain("c2", 10.11, 17, "n1 was up and in reach")},
		{name: "a key without an end that was set again when the lease was over", story: strings.NewReplacer("7 c1", "10.1 c1", "7.1", "10.2", "7.2", "10.3").Replace(setAgain) + tries("c2", 10, 17), want: vain("c2", 10.11, 17, "n1 was up and in reach")},
		{name: "a key without an end, whose owner asked for the lock again when its lease was over", story: endless + "0.2 c1 ok acquire c1#1 until=10\n11 c1 invoke acquire\n11.1 n1 deliver c1 sent=11.05\n11.1 c1 fault crash\n" + tries("c2", 10, 17), want: vain("c2", 10.11, 17, "n1 was up and in reach")},
		{name: "a key without an end, and the clock of the node was set back", story: endless + "0.2 c1 ok acquire c1#1 until=10\n5 n1 fault jump wall=-5\n7 c1 fault crash\n" + tries("c2", 10, 15)},
		{name: "and long after that, by the clock of the node", story: endless + "0.2 c1 ok acquire c1#1 until=10\n5 n1 fault jump wall=-5\n7 c1 fault crash\n" + tries("c2", 10, 21), want: vain("c2", 15.11, 21, "n1 was up and in reach")},
		{name: "the only node refuses writes", story: "1 c1 deliver n1 sent=0.9 word=SET NOREPLICAS_x\n" + tries("c1", 1, 9)},
		{name: "it refused writes, and then another client's as well", story: "1 c1 deliver n1 sent=0.9 word=SET NOREPLICAS_x\n3 r1 fault crash\n6 c2 deliver n1 sent=5.9 word=SET NOREPLICAS_x\n" + tries("c1", 1, 10)},
		{name: "it refused writes, but no longer does", story: "1 c1 deliver n1 sent=0.9 word=SET NOREPLICAS_x\n3 c2 deliver n1 sent=2.9 word=SET\n" + tries("c1", 1, 9), want: vain("c1", 2.9, 9, "n1 was up and in reach")},
		{name: "it answers another command", story: "1 c1 deliver n1 sent=0.9 word=SET NOREPLICAS_x\n3 c2 deliver n1 sent=2.9 word=GET\n" + tries("c1", 1, 9)},
		{name: "it refused writes until its replica came back", story: "1 c1 deliver n1 sent=0.9 word=SET NOREPLICAS_x\n3 r1 fault restart\n" + tries("c1", 1, 9), want: vain("c1", 3, 9, "n1 was up and in reach")},
		{name: "one of five refuses writes", story: five + "1 c1 deliver n1 sent=0.9 word=SET NOREPLICAS_x\n" + tries("c1", 1, 9), want: vain("c1", 1, 9, four)},
		{name: "three of five refuse writes", story: five + "1 c1 deliver n1 sent=0.9 word=SET NOREPLICAS_x\n1 c1 deliver n2 sent=0.9 word=SET NOREPLICAS_x\n1 c1 deliver n4 sent=0.9 word=SET NOREPLICAS_x\n" + tries("c1", 1, 9)},
		{name: "one long try", story: five + "0 c1 invoke acquire\n6 c1 fail acquire", want: vain("c1", 0, 6, all)},
		{name: "a try that never ends", story: five + "0 c1 invoke acquire\n6 c2 info exit", want: vain("c1", 0, 6, all)},
		{name: "a try that ends with a crash", story: five + "0 c1 invoke acquire\n3 c1 fault crash\n9 c2 info exit"},
		{name: "it gets it late", story: five + "0 c1 invoke acquire\n5.9 n1 set c1#1\n5.9 n2 set c1#1\n5.9 n3 set c1#1\n6 c1 ok acquire c1#1 until=15", want: vain("c1", 0, 5.9, all)},
		{name: "short tries far apart", story: five + tries("c1", 0, 3) + tries("c1", 4, 7) + tries("c1", 8, 11)},
		{name: "it does something else between", story: five + tries("c1", 0, 3) + "3 c1 invoke read\n3.1 c1 ok read\n" + tries("c1", 3.2, 6)},
		{name: "somebody else gets it", story: five + tries("c1", 0, 4) + "4 c2 invoke acquire\n4.1 n1 set c2#1\n4.1 n2 set c2#1\n4.1 n3 set c2#1\n4.2 c2 ok acquire c2#1 until=5\n" + tries("c1", 4.0, 9)},
		{name: "somebody holds it", story: held5 + tries("c2", 1, 10)},
		{name: "somebody held it, and gave it back", story: held5 + "1 c1 invoke release c1#1\n1.1 c1 ok release c1#1\n" + tries("c2", 1, 9), want: vain("c2", 1.1, 9, all)},
		{name: "somebody held it, and did not give it back", story: held5 + "1 c1 invoke release c1#1\n1.1 c1 info release c1#1\n" + tries("c2", 1, 10), want: vain("c2", 1.1, 10, all)},
		{name: "somebody held it, and was told at once that it did not", story: held5 + "1 c1 invoke release c1#1\n1.1 c1 fail release c1#1\n" + tries("c2", 1, 10), want: vain("c2", 1.1, 10, all)},
		{name: "the request of the release was lost", story: held + "1 c1 invoke release c1#1\n1.05 n1 drop c1 sent=1\n1.1 c1 fail release c1#1\n" + tries("c2", 1, 10)},
		{name: "its reply was lost later", story: held + "1 c1 invoke release c1#1\n1.1 c1 fail release c1#1\n1.2 c1 drop n1 sent=1.05\n" + tries("c2", 1, 10)},
		{name: "it was late", story: held + "1 c1 invoke release c1#1\n2 c1 info release c1#1\n9 n1 late c1 sent=1\n" + tries("c2", 1, 10)},
		{name: "it was a little late", story: held + "1 c1 invoke release c1#1\n1.01 c1 info release c1#1\n1.02 n1 deliver c1 sent=1\n" + tries("c2", 1, 10), want: vain("c2", 1.01, 10, "n1 was up and in reach")},
		{name: "it was late, but in time", story: held + "1 c1 invoke release c1#1\n1.5 n1 deliver c1 sent=1\n1.6 c1 info release c1#1\n" + tries("c2", 1, 10), want: vain("c2", 1.6, 10, "n1 was up and in reach")},
		{name: "what came before it was late", story: held + "0.9 n1 drop c1 sent=0.8\n1 c1 invoke release c1#1\n1.1 c1 info release c1#1\n2 n1 late c1 sent=0.8\n" + tries("c2", 1, 10), want: vain("c2", 1.1, 10, "n1 was up and in reach")},
		{name: "what came after it was lost", story: held + "1 c1 invoke release c1#1\n1.1 c1 info release c1#1\n2 n1 drop c1 sent=1.1\n" + tries("c2", 1, 10), want: vain("c2", 1.1, 10, "n1 was up and in reach")},
		{name: "it never arrived", story: held + "1 c1 invoke release c1#1\n1 c1->n1 bite on_request_release_c1->n1_delay_90s\n2 c1 info release c1#1\n" + tries("c2", 1, 10)},
		{name: "nor did its reply", story: held + "1 c1 invoke release c1#1\n1 n1->c1 bite on_reply_release_n1->c1_hold\n2 c1 info release c1#1\n2 x fault release release_c1-n2\n" + tries("c2", 1, 10)},
		{name: "it was held for a moment", story: held + "1 c1 invoke release c1#1\n1 c1->n1 bite on_request_release_c1->n1_hold\n1.1 x fault heal heal\n2 c1 info release c1#1\n" + tries("c2", 2, 10), want: vain("c2", 2, 10, "n1 was up and in reach")},
		{name: "it was held, and let go the other way", story: held + "1 c1 invoke release c1#1\n1 c1->n1 bite on_request_release_c1->n1_hold\n1.1 x fault release release_n1->c1\n2 c1 info release c1#1\n" + tries("c2", 2, 10)},
		{name: "it was held, and nobody knows what was let go", story: held + "1 c1 invoke release c1#1\n1 c1->n1 bite on_request_release_c1->n1_hold\n1.1 x fault heal what\n2 c1 info release c1#1\n" + tries("c2", 2, 10)},
		{name: "it was held, and let go", story: held + "1 c1 invoke release c1#1\n1 c1->n1 bite on_request_release_c1->n1_hold\n1.1 x fault release release_n1-c1\n2 c1 info release c1#1\n" + tries("c2", 2, 10), want: vain("c2", 2, 10, "n1 was up and in reach")},
		{name: "it took a little more", story: held + "1 c1 invoke release c1#1\n1 c1->n1 bite on_request_release_c1->n1_delay_20ms\n1.01 c1 info release c1#1\n" + tries("c2", 2, 10), want: vain("c2", 2, 10, "n1 was up and in reach")},
		{name: "it took longer than a node may take", story: held + "1 c1 invoke release c1#1\n1 c1->n1 bite on_request_release_c1->n1_delay_30ms\n1.01 c1 info release c1#1\n" + tries("c2", 2, 10)},
		{name: "it took a second more", story: held + "1 c1 invoke release c1#1\n1 c1->n1 bite on_request_release_c1->n1_delay_1s\n3 c1 info release c1#1\n" + tries("c2", 3, 10), want: vain("c2", 3, 10, "n1 was up and in reach")},
		{name: "a key that came when the lease had been released, but could not have been", story: "0 c1 invoke acquire\n0.2 c1 ok acquire c1#1 until=10\n1 c1-n1 fault cut cut_c1-n1\n1.1 c1 invoke release c1#1\n1.2 c1 info release c1#1\n2 x fault heal heal\n2 n1 set c1#1 sent=0.1\n" + tries("c2", 2, 11)},
		{name: "and was refused at once", story: "0 c1 invoke acquire\n0.2 c1 ok acquire c1#1 until=10\n1 c1-n1 fault cut cut_c1-n1\n1 c1 invoke release c1#1\n1 c1 info release c1#1\n2 x fault heal heal\n2 n1 set c1#1 sent=0.1\n" + tries("c2", 2, 11)},
		{name: "and the release had overtaken the request", story: "0 c1 invoke acquire\n0.2 c1 ok acquire c1#1 until=10\n1 c1 invoke release c1#1\n1.1 c1 info release c1#1\n2 n1 set c1#1 sent=0.1\n" + tries("c2", 2, 11)},
		{name: "and the release could have waited for the request", story: "0 c1 invoke acquire\n0.2 c1 ok acquire c1#1 until=10\n1 c1 invoke release c1#1\n1.1 c1 info release c1#1\n1.11 n1 set c1#1 sent=1.09\n" + tries("c2", 2, 11), want: vain("c2", 2, 11, "n1 was up and in reach")},
		{name: "and the lock had asked for it twice", story: "0 c1 invoke acquire\n0.1 n1 set c1#1 sent=0.05\n0.2 c1 ok acquire c1#1 until=10\n1 c1 invoke release c1#1\n1.05 n1 delete c1#1 sent=1\n1.1 c1 ok release c1#1\n2 n1 set c1#1 sent=0.1\n" + tries("c2", 2, 11), want: vain("c2", 2, 11, "n1 was up and in reach")},
		{name: "and was released once more", story: "0 c1 invoke acquire\n0.2 c1 ok acquire c1#1 until=10\n1 c1 invoke release c1#1\n1.1 c1 info release c1#1\n2 n1 set c1#1 sent=0.1\n2.1 c1 invoke release c1#1\n2.2 c1 info release c1#1\n" + tries("c2", 2, 11), want: vain("c2", 2.2, 11, "n1 was up and in reach")},
		{name: "somebody held it, and was never told whether it was given back", story: held5 + "1 c1 invoke release c1#1\n" + tries("c2", 1, 10)},
		{name: "somebody held it, and could not give it back", story: held5 + "0.9 c1-n1 fault cut cut_c1-n1\n0.9 c1-n2 fault cut cut_c1-n2\n0.9 c1-n3 fault cut cut_c1-n3\n1 c1 invoke release c1#1\n1.1 c1 info release c1#1\n" + tries("c2", 1, 10)},
		{name: "not on most nodes", story: held5 + "1 c1-n1 fault cut cut_c1-n1\n1 c1-n2 fault cut cut_c1-n2\n1 c1-n3 fault cut cut_c1-n3\n1 c1 invoke release c1#1\n1.05 x fault heal heal\n1.1 c1 info release c1#1\n" + tries("c2", 1, 10)},
		{name: "and could on one", story: held5 + "1 c1-n1 fault cut cut_c1-n1\n1 c1 invoke release c1#1\n1.1 c1 info release c1#1\n1.2 x fault heal heal\n" + tries("c2", 1.2, 10), want: vain("c2", 1.2, 10, all)},
		{name: "somebody held it, and extended it", story: held5 + "9 c1 invoke extend c1#1\n9.1 c1 ok extend c1#1 until=19\n" + tries("c2", 6, 19)},
		{name: "an extension found it lost, though it was not", story: held + "1 c1 invoke extend c1#1\n1.1 c1 fail extend c1#1 until=1.1\n" + tries("c2", 1, 10), want: vain("c2", 1.1, 10, "n1 was up and in reach")},
		{name: "an extension found it lost when n1 was out of reach", story: held + "0.9 c1-n1 fault cut cut_c1-n1\n1 c1 invoke extend c1#1\n1.1 c1 fail extend c1#1 until=1.1\n1.2 x fault heal heal\n" + tries("c2", 1.2, 10)},
		{name: "an extension found it lost without an answer", story: held + "1 c1 invoke extend c1#1\n1.05 n1 deliver c1 sent=1 word=EVAL\n1.06 c1 drop n1 sent=1.05\n1.1 c1 fail extend c1#1 until=1.1\n" + tries("c2", 1, 10), want: vain("c2", 1.1, 10, "n1 was up and in reach")},
		{name: "an extension found it lost when n1 was out of reach, without a request", story: held + "1 c1 invoke extend c1#1\n1.05 n1 drop c1 sent=0.95 word=EVAL\n1.1 c1 fail extend c1#1 until=1.1\n" + tries("c2", 1, 10)},
		{name: "an extension without an answer found it lost when it was over", story: held + "9.9 c1 invoke extend c1#1\n9.95 n1 deliver c1 sent=9.9 word=EVAL\n9.96 c1 drop n1 sent=9.95\n10.5 c1 fail extend c1#1 until=10.5\n" + tries("c2", 9.9, 16)},
		{name: "an extension was refused, and it is not lost", story: held + "1 c1 invoke extend c1#1\n1.1 c1 fail extend c1#1\n" + tries("c2", 1, 10)},
		{name: "it is over", story: held5 + "10.1 n1 expire c1#1\n10.1 n2 expire c1#1\n10.1 n3 expire c1#1\n" + tries("c2", 9, 17), want: vain("c2", 10.1, 17, all)},
		{name: "its key lasts longer than was asked for", story: short + "1 c1 fault crash\n10.1 n1 expire c1#1\n" + tries("c2", 1, 10), want: vain("c2", 2.1, 10, "n1 was up and in reach")},
		{name: "twice as long and a second", story: strings.ReplaceAll(short, "ttl=2", "ttl=4.5") + "1 c1 fault crash\n10.1 n1 expire c1#1\n" + tries("c2", 1, 10)},
		{name: "but not than the client was told", story: strings.ReplaceAll(short, "until=2", "until=6") + "10.1 n1 expire c1#1\n" + tries("c2", 1, 10)},
		{name: "the client had extended it", story: short + "1 c1 invoke extend c1#1 ttl=9\n1.1 c1 fault crash\n10.1 n1 expire c1#1\n" + tries("c2", 1, 10)},
		{name: "the client had extended it, but not for so long", story: short + "1 c1 invoke extend c1#1 ttl=4.4\n1.1 c1 fault crash\n10.1 n1 expire c1#1\n" + tries("c2", 1, 10), want: vain("c2", 4.5, 10, "n1 was up and in reach")},
		{name: "an extension of which only the node knows", story: short + "1 c1 invoke extend c1#1 ttl=2\n1.2 n1 deliver c1 sent=1.1\n1.3 c1 fault crash\n10.1 n1 expire c1#1\n" + tries("c2", 1, 8)},
		{name: "an extension that was lost", story: short + "1 c1 invoke extend c1#1 ttl=2\n1.2 n1 drop c1 sent=1.1\n1.3 c1 fault crash\n10.1 n1 expire c1#1\n" + tries("c2", 1, 8), want: vain("c2", 2.1, 8, "n1 was up and in reach")},
		{name: "a request of another client", story: short + "1 c1 fault crash\n1.2 n1 deliver c3 sent=1.1\n10.1 n1 expire c1#1\n" + tries("c2", 1, 8), want: vain("c2", 2.1, 8, "n1 was up and in reach")},
		{name: "and its TTL has passed, too", story: short + "1 c1 invoke extend c1#1 ttl=2\n1.2 n1 deliver c1 sent=1.1\n1.3 c1 fault crash\n10.1 n1 expire c1#1\n" + tries("c2", 1, 9), want: vain("c2", 3.2, 9, "n1 was up and in reach")},
		{name: "its key lasts longer because the clock of its client was ahead", story: strings.ReplaceAll(short, "acquire ttl=2", "acquire ttl=2 wall=8") + "1 c1 fault crash\n10.1 n1 expire c1#1\n" + tries("c2", 1, 10)},
		{name: "the clock of its client was ahead, but by less", story: strings.ReplaceAll(short, "acquire ttl=2", "acquire ttl=2 wall=7") + "1 c1 fault crash\n10.1 n1 expire c1#1\n" + tries("c2", 1, 10), want: vain("c2", 2.1, 10, "n1 was up and in reach")},
		{name: "its key lasts for as long as was asked for, by a clock that is slow", story: strings.ReplaceAll(short, "set c1#1", "set c1#1 until=2.1") + "1 c1 fault crash\n10.1 n1 expire c1#1\n" + tries("c2", 1, 10)},
		{name: "two wait for the same", story: five + tries("c1", 0, 6) + tries("c2", 0.1, 6.1), want: vain("c1", 0, 6, all)},
		{name: "two wait one after the other", story: five + tries("c1", 0, 6) + tries("c2", 7, 13), want: append(vain("c1", 0, 6, all), vain("c2", 7, 13, all)...)},
		{name: "each waits for longer than the one before", story: five + tries("c1", 0, 6) + tries("c2", 3, 12) + tries("c3", 9, 18), want: vain("c1", 0, 6, all)},
		{name: "the probe", story: "nodes 5\nprobe c1\n" + tries("c1", 0, 9)},
		{name: "a minority is down", story: five + "0 n5 fault crash\n" + tries("c1", 0, 6), want: vain("c1", 0, 6, four)},
		{name: "a minority hangs", story: five + "0 n5 fault pause\n" + tries("c1", 0, 6), want: vain("c1", 0, 6, four)},
		{name: "a minority was stopped", story: five + "0 n5 fault stop\n0 n4 fault stop\n" + tries("c1", 0, 6), want: vain("c1", 0, 6, "3 of 5 nodes were up and in reach")},
		{name: "a majority is down", story: five + "0 n5 fault crash\n0 n4 fault stop\n0 n3 fault pause\n" + tries("c1", 0, 9)},
		{name: "a majority is back", story: five + "0 n5 fault crash\n0 n4 fault stop\n0 n3 fault pause\n2 n3 fault resume\n" + tries("c1", 0, 8), want: vain("c1", 2, 8, "3 of 5 nodes were up and in reach")},
		{name: "a majority is out of reach", story: five + "0 c1-n5 fault cut cut_c1-n5\n0 n4->c1 fault hold hold_n4->c1\n0 c1->n3 fault delay delay_c1->n3_1s\n" + tries("c1", 0, 9)},
		{name: "out of reach of another", story: five + "0 c2-n5 fault cut cut_c2-n5\n0 c2-n4 fault cut cut_c2-n4\n0 c2-n3 fault cut cut_c2-n3\n" + tries("c1", 0, 6), want: vain("c1", 0, 6, all)},
		{name: "the only node is slow, and has the key of a client that crashed while it extended its lease",
			story: "0 c1-n1 fault delay delay_c1-n1_1s\n0 c2 invoke acquire\n0.1 n1 set c2#1\n0.2 c2 ok acquire c2#1 until=10\n5 c2 invoke extend c2#1\n5.1 n1 retime c2#1 until=15.1\n5.1 c2 fault crash\n15.1 n1 expire c2#1\n" + tries("c1", 1, 19)},
		{name: "and for long after that", want: vain("c1", 15.1, 21, "only n1 had failed"),
			story: "0 c1-n1 fault delay delay_c1-n1_1s\n0 c2 invoke acquire\n0.1 n1 set c2#1\n0.2 c2 ok acquire c2#1 until=10\n5 c2 invoke extend c2#1\n5.1 n1 retime c2#1 until=15.1\n5.1 c2 fault crash\n15.1 n1 expire c2#1\n" + tries("c1", 1, 21)},
		{name: "a little slow", story: five + "0 c1-n5 fault delay delay_c1-n5_20ms\n0 c1-n4 fault delay delay_c1-n4_20ms\n0 c1-n3 fault delay delay_c1-n3_20ms\n" + tries("c1", 0, 6), want: vain("c1", 0, 6, all)},
		{name: "slow", story: five + "0 c1-n5 fault delay delay_c1-n5_25ms\n0 c1-n4 fault delay delay_c1-n4_25ms\n0 c1-n3 fault delay delay_c1-n3_25ms\n" + tries("c1", 0, 6)},
		{name: "mended", story: five + "0 c1-n5 fault cut cut_c1-n5\n0 c1-n4 fault hold hold_c1-n4\n0 c1->n3 fault delay delay_c1->n3_1s\n1 c1-n4 fault release release_c1-n4\n" + tries("c1", 0, 7), want: vain("c1", 1, 7, "3 of 5 nodes were up and in reach")},
		{name: "all healed", story: five + "0 c1-n5 fault cut cut_c1-n5\n0 c1-n4 fault hold hold_c1-n4\n0 c1->n3 fault delay delay_c1->n3_1s\n1 x fault heal heal\n" + tries("c1", 0, 7), want: vain("c1", 1, 7, all)},
		{name: "mended one way", story: five + "0 c1-n5 fault cut cut_c1-n5\n0 c1-n4 fault cut cut_c1-n4\n0 c1-n3 fault cut cut_c1-n3\n1 c1->n3 fault heal heal_c1->n3\n" + tries("c1", 0, 9)},
		{name: "in turn", story: five + "0 n5 fault crash\n0 n4 fault crash\n0 n3 fault crash\n4 n3 fault restart\n8 n1 fault crash\n" + tries("c1", 0, 12)},
		{name: "the client itself sleeps", story: five + "0 c1 invoke acquire\n1 c1 fault pause\n9 c1 fault resume\n10 c1 fail acquire"},
		{name: "it sleeps for a moment", story: five + "0 c1 invoke acquire\n1 c1 fault pause\n2 c1 fault resume\n8 c1 fail acquire", want: vain("c1", 2, 8, all)},

		{name: "one of two is down", story: "nodes 2\n0 n2 fault crash\n" + tries("c1", 0, 9)},
		{name: "one of two is out of reach", story: "nodes 2\n0 c1-n2 fault cut cut_c1-n2\n" + tries("c1", 0, 9)},
		{name: "both of two are up", story: "nodes 2\n" + tries("c1", 0, 6), want: vain("c1", 0, 6, all)},
		{name: "one of three is down", story: "nodes 3\n0 n2 fault crash\n" + tries("c1", 0, 6), want: vain("c1", 0, 6, "2 of 3 nodes were up and in reach")},
		{name: "the only node is down", story: "0 n1 fault crash\n" + tries("c1", 0, 6), want: vain("c1", 0, 6, "only n1 had failed")},
		{name: "the only node is out of reach", story: "0 c1-n1 fault cut cut_c1-n1\n" + tries("c1", 0, 6), want: vain("c1", 0, 6, "only n1 had failed")},
		{name: "the only node is up", story: tries("c1", 0, 6), want: vain("c1", 0, 6, "n1 was up and in reach")},
		{name: "the only node is down for a while", story: "0 n1 fault crash\n4 n1 fault restart\n4.1 c2 invoke acquire\n4.2 n1 set c2#1\n4.3 c2 ok acquire c2#1 until=14\n" + tries("c1", 0, 9)},
		{name: "the only node has a key of a client that crashed", story: "0 c1 invoke acquire\n0.1 n1 set c1#1\n0.2 c1 fault crash\n10.1 n1 expire c1#1\n" + tries("c2", 1, 10)},
		{name: "and without an end", story: "0 c1 invoke acquire\n0.1 n1 set c1#1 until=never\n0.2 c1 fault crash\n" + tries("c2", 1, 20)},
		{name: "a key without an end, of a lease without one", story: endless + "0.2 c1 ok acquire c1#1 until=never\n" + tries("c2", 1, 20)},
		{name: "a key without an end, of a lease that is over", story: endless + "0.2 c1 ok acquire c1#1 until=10\n" + tries("c2", 1, 20), want: vain("c2", 10.11, 20, "n1 was up and in reach")},
		{name: "a key without an end, and a clock that is behind",
			story: endless + "0.2 c1 ok acquire c1#1 until=10\n1 c2 fault jump wall=-60\n" + behind(tries("c2", 1, 20)), want: misled("c2", 10.11, 20)},
		{name: "a key without an end that was gone in time, and a clock that is behind",
			story: endless + "0.2 c1 ok acquire c1#1 until=10\n3 c1 invoke release c1#1\n3.1 n1 delete c1#1\n3.2 c1 ok release c1#1\n" + behind(tries("c2", 1, 20)), want: vain("c2", 3.2, 20, "n1 was up and in reach")},
		{name: "a key without an end that was gone just in time, and a clock that is behind",
			story: endless + "0.2 c1 ok acquire c1#1 until=10\n10.11 n1 delete c1#1 by=c3\n" + behind(tries("c2", 1, 20)), want: vain("c2", 10.11, 20, "n1 was up and in reach")},
		{name: "a clock that is behind for a while",
			story: endless + "0.2 c1 ok acquire c1#1 until=10\n1 c2 fault jump wall=-60\n" + behind(tries("c2", 1, 12)) + "12 c2 fault jump\n" + tries("c2", 12, 20), want: vain("c2", 10.11, 20, "n1 was up and in reach")},
		{name: "a clock that is behind for long enough",
			story: endless + "0.2 c1 ok acquire c1#1 until=10\n1 c2 fault jump wall=-60\n" + behind(tries("c2", 1, 17)) + "17 c2 fault jump\n" + tries("c2", 17, 20), want: misled("c2", 10.11, 20)},
		{name: "the owner's clock was ahead, and its key says so",
			story: "0 c1 fault jump wall=60\n0 c1 invoke acquire wall=60\n0.1 n1 set c1#1 until=never\n0.2 c1 ok acquire c1#1 until=10 wall=60\n" + tries("c2", 1, 20), want: misled("c2", 10.11, 20)},
		{name: "the lease was over by its owner's clock, and the owner sent no release",
			story: held + "0.5 c1 fault jump wall=12\n1 c1 invoke release c1#1 wall=12\n1 c1 fail release c1#1 wall=12\n" + tries("c2", 1, 9), want: misled("c2", 1, 9)},
		{name: "an extension found the lease lost by its owner's clock",
			story: held + "0.5 c1 fault jump wall=12\n1 c1 invoke extend c1#1 wall=12\n1 c1 fail extend c1#1 until=1 wall=12\n" + tries("c2", 1, 9), want: misled("c2", 1, 9)},
		{name: "the owner's clock was ahead, but the lease was not over by it either",
			story: held + "0.5 c1 fault jump wall=8\n1 c1 invoke release c1#1 wall=8\n1 c1 fail release c1#1 wall=8\n" + tries("c2", 1, 9), want: vain("c2", 1, 9, "n1 was up and in reach")},
		{name: "the owner's clock was set during the acquire",
			story: strings.Replace(held, "0.1 n1", "0 c1 fault jump wall=12\n0.1 n1", 1) + "1 c1 invoke release c1#1 wall=12\n1 c1 fail release c1#1 wall=12\n" + tries("c2", 1, 9), want: misled("c2", 1, 9)},
		{name: "the owner's clock had been ahead since before the acquire",
			story: "0 c1 fault jump wall=12\n" + strings.ReplaceAll(held, "invoke acquire", "invoke acquire wall=12") + "1 c1 invoke release c1#1 wall=12\n1 c1 fail release c1#1 wall=12\n" + tries("c2", 1, 9), want: vain("c2", 1, 9, "n1 was up and in reach")},
		{name: "the lease was over by its owner's clock, but the release took a while",
			story: held + "0.5 c1 fault jump wall=12\n1 c1 invoke release c1#1 wall=12\n1.01 c1 fail release c1#1 wall=12\n" + tries("c2", 1.1, 9), want: vain("c2", 1.1, 9, "n1 was up and in reach")},
		{name: "the lease was over by its owner's clock, but the owner sent the release all the same",
			story: held + "0.5 c1 fault jump wall=12\n1 c1 invoke release c1#1 wall=12\n1.0005 c1 fail release c1#1 wall=12\n1.01 n1 deliver c1 sent=1\n" + tries("c2", 1.1, 9), want: vain("c2", 1.1, 9, "n1 was up and in reach")},
		{name: "the lease was over by its owner's clock, and the owner then asked for the lock again",
			story: held + "0.5 c1 fault jump wall=12\n1 c1 invoke release c1#1 wall=12\n1 c1 fail release c1#1 wall=12\n1 c1 invoke acquire wall=12\n1.01 n1 deliver c1 sent=1\n1.1 c1 fail acquire wall=12\n" + tries("c2", 1.1, 9), want: misled("c2", 1.1, 9)},
		{name: "an extension was granted since the clock had jumped",
			story: held + "0.5 c1 fault jump wall=12\n0.6 c1 invoke extend c1#1 wall=12\n0.7 c1 ok extend c1#1 until=11 wall=12\n1 c1 invoke release c1#1 wall=12\n1 c1 fail release c1#1 wall=12\n" + tries("c2", 1.1, 9), want: vain("c2", 1.1, 9, "n1 was up and in reach")},
		{name: "the owner called the release again when its clock was right",
			story: held + "0.5 c1 fault jump wall=12\n1 c1 invoke release c1#1 wall=12\n1 c1 fail release c1#1 wall=12\n1.5 c1 fault jump\n2 c1 invoke release c1#1\n2 c1 fail release c1#1\n" + tries("c2", 1, 9), want: vain("c2", 1, 9, "n1 was up and in reach")},
		{name: "a key without an end, and a clock that is behind a little",
			story: endless + "0.2 c1 ok acquire c1#1 until=10\n" + strings.ReplaceAll(tries("c2", 1, 20), "acquire\n", "acquire wall=-2\n"), want: vain("c2", 10.11, 20, "n1 was up and in reach")},
		{name: "and one that nobody removed", story: "0 c1 invoke acquire\n0.1 n1 set c1#1\n0.2 c1 info acquire\n10.1 n1 expire c1#1\n" + tries("c2", 1, 10), want: vain("c2", 1, 10, "n1 was up and in reach")},
		{name: "a short TTL", story: "ttl 1\n" + tries("c1", 0, 1)},
		{name: "no TTL", story: "ttl 0\n0 c1 invoke acquire\n9 c1 fail acquire"},
		{name: "real servers are given more time", story: "ttl 1\nbound 6\n" + tries("c1", 0, 6)},

		{name: "keys that were left", story: five + "0 c1 invoke acquire\n0.1 n1 set c1#1\n0.1 n2 set c1#1\n0.1 n3 set c1#1\n0.2 c1 fail acquire\n" + tries("c2", 1, 7), want: vain("c2", 1, 7, all)},
		{name: "by a client that was cut off", story: five + "0 c1 invoke acquire\n0.1 n1 set c1#1\n0.1 n2 set c1#1\n0.1 n3 set c1#1\n0.15 c1-n3 fault cut cut_c1-n3\n0.2 c1 fail acquire\n0.2 n1 delete c1#1\n" + tries("c2", 1, 7), want: vain("c2", 1, 7, all)},
		{name: "by a client that was cut off from most", story: five + "0 c1 invoke acquire\n0.1 n1 set c1#1\n0.1 n2 set c1#1\n0.1 n3 set c1#1\n0.15 c1-n3 fault cut cut_c1-n3\n0.15 c1-n2 fault cut cut_c1-n2\n0.15 c1-n1 fault cut cut_c1-n1\n0.2 c1 fail acquire\n5 x fault heal heal\n" + tries("c2", 1, 9)},
		{name: "by a client that crashed, on two, and another is down", story: five + "0 n5 fault crash\n0 c1 invoke acquire\n0.1 n1 set c1#1\n0.1 n2 set c1#1\n0.2 c1 fault crash\n" + tries("c2", 1, 9)},
		{name: "by a client that crashed, on two", story: five + "0 c1 invoke acquire\n0.1 n1 set c1#1\n0.1 n2 set c1#1\n0.2 c1 fault crash\n" + tries("c2", 1, 9), want: vain("c2", 1, 9, all)},
		{name: "on a node that was down meanwhile", story: "0 c1 invoke acquire\n0.1 n1 set c1#1\n0.2 n1 fault crash\n0.3 c1 info acquire\n0.5 n1 fault restart\n10.1 n1 expire c1#1\n" + tries("c2", 1, 10)},
		{name: "by requests that had been on their way for long", story: five + "0 c1->n1 fault delay delay_c1->n1_9s\n0 c1->n2 fault delay delay_c1->n2_9s\n0 c1->n3 fault delay delay_c1->n3_9s\n1 c1 invoke acquire\n2 c1 fail acquire\n3 x fault heal heal\n10 n1 set c1#1 sent=1\n10 n2 set c1#1 sent=1\n10 n3 set c1#1 sent=1\n" + tries("c2", 10.1, 18)},
		{name: "by a client whose releases were lost", story: five + "0 c1 invoke acquire\n0.1 n1 set c1#1\n0.1 n2 set c1#1\n0.1 n3 set c1#1\n0.2 n1 drop c1 sent=0.15\n0.2 n2 drop c1 sent=0.15\n0.2 n3 drop c1 sent=0.15\n0.3 c1 fail acquire\n" + tries("c2", 1, 9)},
		{name: "by one whose release to one node was lost", story: five + "0 c1 invoke acquire\n0.1 n1 set c1#1\n0.1 n2 set c1#1\n0.1 n3 set c1#1\n0.2 n1 drop c1 sent=0.15\n0.3 c1 fail acquire\n" + tries("c2", 1, 9), want: vain("c2", 1, 9, all)},
		{name: "by a client that was told too late that its script is unknown", story: five + "0 c1 invoke acquire\n0.1 n1 set c1#1\n0.1 n2 set c1#1\n0.1 n3 set c1#1\n0.3 c1 fail acquire\n" +
			"7.9 c1 late n1 word=EVALSHA sent=0.15\n8 c1 late n2 word=EVALSHA sent=0.15\n8.1 c1 late n3 word=EVALSHA sent=0.15\n" + tries("c2", 1, 9)},
		{name: "by one that was told too late by one node", story: five + "0 c1 invoke acquire\n0.1 n1 set c1#1\n0.1 n2 set c1#1\n0.1 n3 set c1#1\n0.3 c1 fail acquire\n" +
			"8 c1 late n1 word=EVALSHA sent=0.15\n" + tries("c2", 1, 7), want: vain("c2", 1, 7, all)},
		{name: "by one that was never told that it got the lock", story: "0 c1 invoke acquire\n0.1 n1 deliver c1 word=SET sent=0.05\n0.1 n1 set c1#1\n0.1 c1 drop n1 word=SET sent=0.1\n3 c1 info acquire\n" +
			tries("c2", 3, 10), want: vain("c2", 3, 10, "n1 was up and in reach")},
		{name: "by a client that slept", story: five + "0 c1 invoke acquire\n0.1 n1 set c1#1\n0.1 n2 set c1#1\n0.1 n3 set c1#1\n0.2 c1 fault pause\n9 c1 fault resume\n9.1 c1 fail acquire\n" + tries("c2", 1, 9)},
		{name: "that slept before", story: five + "0 c1 fault pause\n1 c1 fault resume\n2 c1 invoke acquire\n2.1 n1 set c1#1 sent=2\n2.1 n2 set c1#1 sent=2\n2.1 n3 set c1#1 sent=2\n2.2 c1 fail acquire\n" + tries("c2", 3, 9), want: vain("c2", 3, 9, all)},
		{name: "on nodes whose clocks are wrong", story: held5 + "1 c1 invoke release c1#1\n1.1 c1 fail release c1#1\n1.1 n1 expire c1#1\n1.1 n2 expire c1#1\n" + tries("c2", 10, 20), want: vain("c2", 10, 20, all)},
		{name: "on most nodes a clock is wrong", story: five + "0 c3 invoke acquire\n0.1 n1 set c3#1\n0.1 n2 set c3#1\n0.1 n3 set c3#1\n0.2 c3 fail acquire\n" + tries("c2", 9, 30),
			want: nil},
		{name: "a lease that was given back but on some nodes", story: held5 + "1 c1 invoke release c1#1\n1 n1 delete c1#1\n1.1 c1 ok release c1#1\n" + tries("c2", 1.1, 8), want: vain("c2", 1.1, 8, all)},

		{name: "a replica takes over at once", story: "replica r1\n" + held + "1 n1 fault crash\n1 r1 promote\n1.1 r1 set c2#1\n" + "1 c2 invoke acquire\n1.2 c2 ok acquire c2#1 until=11"},
		{name: "a replica takes over, and nobody gets it", story: "replica r1\n0 n1 fault crash\n1 r1 promote\n" + tries("c1", 0, 6), want: vain("c1", 0, 6, "only n1 had failed")},
		{name: "a copy that stands on a promoted replica", story: "replica r1\n0 c1 invoke acquire\n0.1 n1 set c1#1\n0.2 r1 set c1#1 by=n1\n0.3 c1 fault crash\n0.4 n1 fault crash\n0.5 r1 promote\n" + tries("c2", 1, 10)},
		{name: "a copy without an end, of a lease that is over", story: "replica r1\n0 c1 invoke acquire\n0.1 n1 set c1#1 until=never\n0.2 r1 set c1#1 by=n1\n0.3 c1 ok acquire c1#1 until=10\n0.4 r1 promote\n0.5 n1 follow r1\n" + tries("c2", 1, 20),
			want: vain("c2", 10.11, 20, "n1 was up and in reach")},
		{name: "a key that stands on an old primary", story: "replica r1\n0 c1 invoke acquire\n0.1 n1 set c1#1\n0.3 c1 fault crash\n0.4 n1 fault crash\n0.5 r1 promote\n0.6 n1 fault restart\n0.7 n1 follow r1\n" + tries("c2", 1, 10),
			want: vain("c2", 1, 10, "n1 was up and in reach")},
	}
	for i := range cases {
		cases[i].story = inOrder(t, cases[i].story)
	}
	testProperty(t, FaultTolerance, cases)
}

// A client that still waits when a cap ends the run has asked until then, even if nothing happened for a long time.
func TestFaultToleranceUntilTheCap(t *testing.T) {
	h := handmade.History(t, "cap the_cap_of_1h_of_virtual_time\n0 c1 invoke acquire\n0.1 n1 set c1#1\n0.2 c1 ok acquire c1#1 until=10\n"+
		"1 c2 invoke acquire\n10 n1 expire c1#1\n")
	for capAt, want := range map[time.Duration]int{0: 0, 12 * time.Second: 0, time.Hour: 1} {
		h.Meta.CapAt = capAt
		if found := faultTolerance(&index{Facts: facts.Of(h)}); len(found) != want {
			t.Errorf("a cap at %v: %v", capAt, found)
		}
	}
}

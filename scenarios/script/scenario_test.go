package script

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"lockstep/checker"
)

func TestResolve(t *testing.T) {
	s, err := Parse("pause.txtar", []byte(page))
	if err != nil {
		t.Fatal(err)
	}
	first, second, third := s.Resolve(s.Runs[0]), s.Resolve(s.Runs[1]), s.Resolve(s.Runs[2])

	if first.TTL != 9*time.Second || second.TTL != 5*time.Second {
		t.Errorf("TTLs are %s and %s, want 9s and 5s", first.TTL, second.TTL)
	}
	if got := (&Scenario{}).Resolve(Section{}).TTL; got != DefaultTTL {
		t.Errorf("TTL is %s, want the default", got)
	}
	if first.Resource != Plain || second.Resource != Fenced || third.Resource != Plain {
		t.Errorf("resources are %s, %s and %s", first.Resource, second.Resource, third.Resource)
	}
	if !reflect.DeepEqual(first.Lanes, s.Lanes) || !reflect.DeepEqual(first.Musts, s.Musts) {
		t.Error("a run without lanes and musts has not those of the scenario")
	}
	if group := s.Resolve(s.Runs[3]); first.Persistence != Durable || group.Persistence != "aof-everysec" {
		t.Errorf("persistences are %s and %s", first.Persistence, group.Persistence)
	}
	if !slices.Equal(first.Reports, s.Reports) || len(s.Resolve(s.Runs[3]).Reports) != 2 {
		t.Error("reports are not those of the scenario, or of the run")
	}
	for header, want := range map[string]time.Duration{
		"":                        0,
		" sentinels=3":            30 * time.Second,
		" shards=3":               15 * time.Second,
		" shards=3 down-after=2s": 2 * time.Second,
	} {
		r := Section{}
		if err := r.parseHeader("single nodes=1 replicas=1" + header); err != nil {
			t.Fatal(err)
		}
		if got := (&Scenario{}).Resolve(r).DownAfter; got != want {
			t.Errorf("%s: down after %s, want %s", header, got, want)
		}
	}
	want := []Lane{s.Lanes[0], s.Runs[1].Lanes[0], s.Runs[1].Lanes[1], s.Runs[1].Lanes[2]}
	if !reflect.DeepEqual(second.Lanes, want) {
		t.Errorf("lanes are\n%v\nwant\n%v", second.Lanes, want)
	}
	if !reflect.DeepEqual(second.Musts, s.Runs[1].Musts) {
		t.Errorf("musts are %v, want only those of the run", second.Musts)
	}
	if s.Lanes[1].Steps == nil || len(s.Lanes) != 3 {
		t.Error("Resolve changed the scenario")
	}
	if got := strings.Join(first.NodeNames(), " "); got != "n1 n2 n3" {
		t.Errorf("nodes are %s", got)
	}
	if first.ID() != "single" || second.ID() != "redlock/too-short" {
		t.Errorf("runs are %s and %s", first.ID(), second.ID())
	}
	cluster := s.Resolve(s.Runs[4])
	if got := strings.Join(cluster.Servers(), " "); got != "n1 r1 p2 p3 resource" {
		t.Errorf("servers are %s", got)
	}
	for p, want := range map[checker.Property]checker.Status{
		checker.LeaseExclusion:    checker.Violated,
		checker.DeadlockFreedom:   checker.Unknown,
		checker.OwnerOnly:         checker.OK,
		checker.ResourceExclusion: checker.OK, // not named
	} {
		if got := second.Expected(p); got != want {
			t.Errorf("%s is expected to be %s, want %s", p, got, want)
		}
	}
}

// TestEqual changes one thing at a time: the copy must differ.
func TestEqual(t *testing.T) {
	for _, change := range [][2]string{
		{"A pause", "A stop"},
		{"c1 obtains", "c1 takes"},
		{"ttl 9s", "ttl 8s"},
		{"ttl 9s\n", ""},
		{"  check\n", ""},
		{"pause 15s", "pause 16s"},
		{"  on reply SET #3 n3->c1 hold\n", "  on reply SET n3->c1 hold\n"},
		{"when c1 acquired +3s", "when c1 acquired"},
		{"must write A arrives after its lease ended\n", ""},
		{"-- single nodes=3 --", "-- single nodes=4 --"},
		{"label=too-short", "label=short"},
		{"seed=7", "seed=8"},
		{"wrote B #2", "wrote B"},
		{" every 4s", ""},
		{"resource=fenced", "resource=plain"},
		{" resource=plain", ""},
		{"ttl=5s", "ttl=6s"},
		{"at 4s restart n3 empty", "at 4s restart n3"},
		{"must n3 restarts before the lease of c1 ended", "must n3 restarts after the lease of c1 ended"},
		{"expect owner only ok\n", ""},
		{"expect owner only ok\n", "expect owner only unknown\n"},
		{"violated: bounded delay\n", "violated\n"},
		{"violated: bounded delay\n", "violated: durable nodes\n"},
		{"verdict: UNSAFE", "verdict: SAFE"},
		{"report round trips\n\n", "\n"},
		{"report unavailability\n", ""},
		{"replicas=2", "replicas=3"},
		{"sentinels=3", "sentinels=4"},
		{"shards=3", "shards=4"},
		{" down-after=5s", ""},
		{" min-replicas=1", ""},
		{"aof-everysec", "aof-lying"},
		{"write A blind", "write A"},
		{"repeat 20", "repeat 21"},
		{"acquire within 1s", "acquire within 2s"},
		{"increment within 3s", "increment"},
		{"crash n1 power", "crash n1"},
		{"at 4s follow n1 r1", "at 4s follow n1 r2"},
		{"when s1 sdown n1", "when s1 sdown r2"},
	} {
		changed := strings.Replace(page, change[0], change[1], 1)
		if changed == page {
			t.Fatalf("the page does not contain %q", change[0])
		}
		s, err := Parse("pause.txtar", []byte(page))
		if err != nil {
			t.Fatal(err)
		}
		c, err := Parse("pause.txtar", []byte(changed))
		if err != nil {
			t.Errorf("%q for %q: %v", change[1], change[0], err)
		} else if s.Equal(c) {
			t.Errorf("a page with %q for %q is the same", change[1], change[0])
		}
	}
}

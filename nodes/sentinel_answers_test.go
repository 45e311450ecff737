package nodes

import (
	"strings"
	"testing"

	"lockstep/nodes/engine"
)

// TestSentinelAnswers: how a sentinel replies to clients.
func TestSentinelAnswers(t *testing.T) {
	inGroup(t, sentinels(2), func(g *Group) {
		const flags = " $5 flags "
		for ask, want := range map[string]string{
			"PING":                                               "+PONG",
			"SENTINEL get-master-addr-by-name lock":              "*2 $8 10.0.0.1 $4 6379",
			"SENTINEL get-master-addr-by-name other":             "*-1",
			"SENTINEL sentinels lock":                            "*1 *8 $4 name $2 s2 $2 ip $8 10.0.0.4 $4 port $4 6379" + flags + "$21 sentinel,disconnected",
			"SENTINEL replicas lock":                             "*1 *8 $4 name $2 r1 $2 ip $8 10.0.0.2 $4 port $4 6379" + flags + "$18 slave,disconnected",
			"SENTINEL slaves lock":                               "*1 *8 $4 name $2 r1 $2 ip $8 10.0.0.2 $4 port $4 6379" + flags + "$18 slave,disconnected",
			"SENTINEL nonsense lock":                             "-ERR unknown command 'SENTINEL', with args beginning with: 'nonsense' 'lock'",
			"SENTINEL is-master-down-by-addr 10.0.0.1 6379 1 *":  "*3 :0 $1 * :0",
			"SENTINEL is-master-down-by-addr 10.0.0.2 6379 1 *":  "*3 :0 $1 * :0",
			"SENTINEL is-master-down-by-addr 10.0.0.1 6379 1 s2": "*3 :0 $2 s2 :1",
			"SENTINEL is-master-down-by-addr 10.0.0.1 6379":      "-ERR unknown command 'SENTINEL', with args beginning with: 'is-master-down-by-addr' '10.0.0.1' '6379'",
			"ROLE":              "*2 $8 sentinel *1 $4 lock",
			"CLIENT SETNAME me": "+OK",
		} {
			var w engine.Replies
			g.sentinels[0].answer(&w, nil, &caller{}, strings.Fields(ask))
			if got := strings.Join(strings.Fields(string(w)), " "); got != want {
				t.Errorf("%s: %q, want %q", ask, got, want)
			}
		}
	})
}

// TestSentinelListeners: a subscriber is registered once, and its PING has another reply as long as it is subscribed.
func TestSentinelListeners(t *testing.T) {
	inGroup(t, sentinels(1), func(g *Group) {
		s, from := g.sentinels[0], &caller{}
		for i, step := range []struct{ ask, want string }{
			{"PING", "+PONG"}, {"SUBSCRIBE a b", "*3 $9 subscribe $1 a :1 *3 $9 subscribe $1 b :2"}, {"PING", "*2 $4 pong $0"},
			{"SUBSCRIBE a", "*3 $9 subscribe $1 a :1"}, {"UNSUBSCRIBE a b", ""}, {"PING", "+PONG"},
		} {
			var w engine.Replies
			s.answer(&w, nil, from, strings.Fields(step.ask))
			if got := strings.Join(strings.Fields(string(w)), " "); got != step.want && step.want != "" {
				t.Errorf("%d, %s: %q, want %q", i, step.ask, got, step.want)
			}
		}
		if len(s.listeners) != 1 {
			t.Errorf("%d listeners", len(s.listeners))
		}
	})
}

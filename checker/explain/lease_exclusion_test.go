package explain

import (
	"testing"

	"lockstep/sim/history"
)

// TestReleasing: what a client did to release a lease, and with what result.
func TestReleasing(t *testing.T) {
	const (
		asked = "1 c1 invoke release c1#1\n"
		sent  = "1.1 n1 deliver c1 DEL_lock sent=1\n"
		info  = "2 c1 info release c1#1"
		past  = "0 n1 deliver c1 SET_lock sent=0\n"
		text  = "c1 asked for the release of c1#1 at 1.000s, "
	)
	for _, test := range []struct{ name, story, error, want string }{
		{"in time", past + asked + sent + "2 c1 ok release c1#1", "", "c1 began to release c1#1 at 1.000s"},
		{"never ended", past + asked + sent, "", "c1 began to release c1#1 at 1.000s"},
		{"failed", past + asked + sent + "2 c1 fail release c1#1", "", "c1 asked for the release of c1#1 at 1.000s, which failed"},
		{"failed, and why", past + asked + sent + "2 c1 fail release c1#1", "lock is not held.", "c1 asked for the release of c1#1 at 1.000s, which failed: lock is not held"},
		{"failed, with an address", past + asked + sent + "2 c1 fail release c1#1", "no answer from 10.0.0.1", "c1 asked for the release of c1#1 at 1.000s, which failed"},
		{"no answer", past + asked + sent + info, "", text + "and got no answer"},
		{"only an error", past + asked + sent + info, "context canceled", text + "and got only an error: context canceled"},
		{"canceled before it was sent", past + asked + info, "cannot release: context canceled", text + "but no request was sent, because its context had been canceled"},
		{"not sent", past + asked + info, "", text + "but no request was sent"},
		{"nothing was ever recorded", asked + info, "", text + "and got no answer"},
		{"perhaps held on its way", past + "0.5 c1-n1 fault cut cut_c1-n1\n" + asked + info, "", text + "and got no answer"},
		{"only the resource was asked", past + asked + "1.1 resource deliver c1 GET sent=1\n" + info, "", text + "but no request was sent"},
		{"another asked", past + asked + "1.1 n1 deliver c2 GET_lock sent=1\n" + info, "", text + "but no request was sent"},
		{"asked only before, and after", past + "1 n1 deliver c1 GET_lock sent=0.9\n" + asked + info + "\n3 n1 deliver c1 GET_lock sent=2.1", "", text + "but no request was sent"},
		{"as it ended", past + asked + info + "\n3 n1 deliver c1 DEL_lock sent=2", "", text + "and got no answer"},
	} {
		narrate(t, test.story, func(n *narrator) {
			released := -1
			for i := range n.f.Events {
				if e := &n.f.Events[i]; e.Op == history.Release && e.Kind == history.Invoke {
					released = i
				} else if e.Op == history.Release {
					e.Error = test.error
				}
			}
			if got, _ := n.releasing(released); got != test.want {
				t.Errorf("%s: %q, want %q", test.name, got, test.want)
			}
		})
	}
}

package reader

import (
	"strings"
	"testing"

	"lockstep/scenarios/play"
	"lockstep/scenarios/script"
	"lockstep/sim/history"
)

// Each fault can be injected into a run, and has an effect there, unless it only ends others. For a fault about replication the run needs a replica.
func TestInject(t *testing.T) {
	play.QuietRedis()
	own := NewHelp().Example
	for what, text := range map[string]string{
		"the example":  own,
		"a replica":    strings.Replace(own, "redlock nodes=5", "single nodes=1 replicas=1", 1),
		"other names":  strings.NewReplacer("c1", "anne", "c2", "bob").Replace(own),
		"no lock":      "client c1\n  sleep 10s\nclient c7\n  read\n\n-- single nodes=1 --\n",
		"a mistake":    strings.Replace(own, "acquire", "acq", 1),
		"another node": strings.Replace(own, "\n\n--", "\nnemesis\n  crash n3\n\n--", 1),
	} {
		for _, row := range history.FaultRows() {
			a := Play(Request{Script: text, Want: Inject, Fault: row.Form})
			if row.Group == "replication" && what != "a replica" && what != "a mistake" {
				if len(a.Errors) != 1 || a.Errors[0].Text != row.Example+" needs replicas, but the run has none; write replicas=1 in the line that names the lock" {
					t.Errorf("%s, %s: %+v", what, row.Form, a.Errors)
				}
				continue
			}
			if len(a.Errors) > 0 || a.Line == 0 {
				t.Fatalf("%s, %s: %v", what, row.Form, a.Errors)
			}
			line := strings.Split(a.Script, "\n")[a.Line-1]
			step, err := script.ParseStep(script.Nemesis, line)
			if err != nil || script.FaultOf(step).Verb() != fault(row.Example).Verb() {
				t.Errorf("%s, %s: %q, %v", what, row.Form, line, err)
				continue
			}
			b := Play(Request{Script: a.Script, Want: Properties})
			if (len(b.Errors) > 0) != (what == "a mistake") {
				t.Errorf("%s: %q: %v", what, line, b.Errors)
			}
			if undoes := script.Undoes(fault(row.Example)) && !(what == "another node" && strings.HasPrefix(row.Form, "restart")); !undoes && what != "no lock" && len(b.Unmet) > 0 {
				t.Errorf("%s: %q: %v", what, line, b.Unmet)
			}
		}
	}
	if a := Play(Request{Script: own, Want: Inject, Fault: "sleep"}); len(a.Errors) != 1 {
		t.Errorf("%+v", a)
	}
}

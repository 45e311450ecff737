package link

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"lockstep/sim/history"
)

// What each fault does to the two directions between a and b after the faults before it, and which faults bite at once.
func TestInject(t *testing.T) {
	there, both := history.Link{From: "a", To: "b"}, history.Link{From: "a", To: "b", Both: true}
	for _, test := range []struct {
		name   string
		faults []history.Fault
		want   string
	}{
		{"nothing", nil, "a->b open, b->a open"},
		{"a cut of one direction", []history.Fault{history.Cut{Link: there}}, "a->b blocked by 1, b->a open"},
		{"a cut of both", []history.Fault{history.Cut{Link: both}}, "a->b blocked by 1, b->a blocked by 1"},
		{"a hold, and a cut over it", []history.Fault{history.Hold{Link: there}, history.Cut{Link: there}}, "a->b blocked by 2, b->a open"},
		{"the cut healed", []history.Fault{history.Cut{Link: both}, history.Heal{Link: there}}, "a->b open, b->a blocked by 1, bites [2], released [a->b]"},
		{"a release, which ends no cut", []history.Fault{history.Cut{Link: there}, history.Hold{Link: there}, history.ReleaseLink{Link: there}}, "a->b blocked by 1, b->a open, bites [3], released [a->b]"},
		{"a delay", []history.Fault{history.Delay{Link: both, By: time.Second}}, "a->b open 1s by 1, b->a open 1s by 1"},
		{"another in its place", []history.Fault{history.Delay{Link: there, By: time.Second}, history.Delay{Link: there, By: time.Minute}}, "a->b open 1m0s by 2, b->a open"},
		{"a delay ended by one of nothing", []history.Fault{history.Delay{Link: there, By: time.Second}, history.Delay{Link: there}}, "a->b open, b->a open, bites [2]"},
		{"the shortest delay ended", []history.Fault{history.Delay{Link: there, By: 1}, history.Delay{Link: there}}, "a->b open, b->a open, bites [2]"},
		{"the shortest delay healed", []history.Fault{history.Delay{Link: there, By: 1}, history.Heal{Link: there}}, "a->b open, b->a open, bites [2], released [a->b]"},
		{"a delay of nothing", []history.Fault{history.Delay{Link: there}}, "a->b open, b->a open"},
		{"a heal of all links", []history.Fault{history.Delay{Link: there, By: time.Second}, history.Hold{Link: both}, history.Heal{}},
			"a->b open, b->a open, bites [3 3 3], released [a->b b->a]"},
		{"a heal of what is whole", []history.Fault{history.Heal{Link: there}}, "a->b open, b->a open, released [a->b]"},
	} {
		var bites []int
		var released []string
		table := NewTable[struct{}](nil)
		on := Effects[struct{}]{
			Bite:    func(id int) { bites = append(bites, id) },
			Release: func(d *Direction[struct{}], _ int) { released = append(released, d.String()) },
		}
		for i, f := range test.faults {
			if !table.Inject(f, i+1, on) {
				t.Errorf("%s: %s is said to be no fault of links", test.name, f)
			}
		}
		show := func(d *Direction[struct{}]) string {
			text := d.String() + " open"
			if id, blocked := d.Blocked(); blocked {
				text = fmt.Sprintf("%s blocked by %d", d, id)
			}
			if d.Delay > 0 {
				text += fmt.Sprintf(" %v by %d", d.Delay, d.DelayID)
			}
			return text
		}
		got := show(table.Between("a", "b")) + ", " + show(table.Between("b", "a"))
		if bites != nil {
			got += fmt.Sprintf(", bites %v", bites)
		}
		if released != nil {
			got += fmt.Sprintf(", released %v", released)
		}
		if got != test.want {
			t.Errorf("%s: %s, want %s", test.name, got, test.want)
		}
	}
	if NewTable[struct{}](nil).Inject(history.Pause{Process: "a"}, 1, Effects[struct{}]{}) {
		t.Error("a pause is said to be a fault of links")
	}
}

// A fault waits for the message that it names, in its direction, and for the number that it gives. Once a message is lost, no other
// fault counts it.
func TestChoose(t *testing.T) {
	fault := func(what string, nth int, action history.Action, reply bool) history.Chosen {
		return history.Chosen{Link: history.Link{From: "c1", To: "n1"}, What: what, Nth: nth, Action: action, Reply: reply}
	}
	table := NewTable[struct{}](nil)
	for i, f := range []history.Fault{
		fault("SET", 2, history.DelayMessage, false),
		fault("acquire", 0, history.HoldMessage, false),
		fault("SET", 2, history.ResetMessage, false),
		fault("SET", 2, history.DelayMessage, false), // for this fault, the lost message did not count as the first
		fault("SET", 0, history.DelayMessage, true),
	} {
		table.Inject(f, i+1, Effects[struct{}]{})
	}
	set := Message{From: "c1", To: "n1", Word: "SET", Op: "acquire"}
	for i, step := range []struct {
		m    Message
		want []int
	}{
		{Message{From: "n1", To: "c1", Word: "SET", Op: "acquire"}, nil},
		{Message{From: "c1", To: "n2", Word: "SET", Op: "acquire"}, nil},
		{Message{From: "c1", To: "n1", Word: "GET", Op: "release"}, nil},
		{set, []int{2}},
		{set, []int{1, 3}},
		{set, []int{4}},
		{Message{From: "c1", To: "n1", Word: "SET", Op: "acquire", Reply: true}, []int{5}},
		{set, nil},
	} {
		var hit []int
		table.Choose(step.m, func(f history.Chosen, id int) bool {
			hit = append(hit, id)
			return f.Action == history.ResetMessage
		})
		if !slices.Equal(hit, step.want) {
			t.Errorf("message %d: faults %v, want %v", i+1, hit, step.want)
		}
	}
	table.Inject(fault("SET", 0, history.DelayMessage, false), 6, Effects[struct{}]{})
	table.Disarm()
	table.Choose(set, func(history.Chosen, int) bool {
		t.Error("a fault was forgotten, and struck all the same")
		return false
	})
}

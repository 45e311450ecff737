package checker

import (
	"strings"
	"testing"
)

func TestDeadlockFreedom(t *testing.T) {
	const probe = `
		probe probe
		bound 5
		0    c1 invoke acquire
		0.1  n1 set c1#1
		0.2  c1 ok acquire c1#1 until=9
		1    c1 fault crash
		20   probe invoke acquire
	`
	testProperty(t, DeadlockFreedom, []verdictCase{
		{name: "at once", story: probe + "20.1 probe ok acquire probe#1 until=30"},
		{name: "at the bound", story: probe + "25 probe ok acquire probe#1 until=35"},
		{name: "what it does before it asks does not count", story: "0 probe invoke read\n0 probe ok read\n" + probe + "25 probe ok acquire probe#1 until=35"},
		{name: "a nanosecond after the bound", story: probe + "25.000000001 probe ok acquire probe#1 until=35",
			want: []string{"probe asked for the lock at 20.000s and got it only at 25.000s, where 5.000s were allowed [none]"}},
		{name: "long after the bound", story: probe + "40 probe ok acquire probe#1 until=50",
			want: []string{"probe asked for the lock at 20.000s and got it only at 40.000s, where 5.000s were allowed [none]"}},
		{name: "no answer", story: probe,
			want: []string{"probe asked for the lock at 20.000s and never got it [none]"}},
		{name: "a refusal", story: probe + "20.1 probe fail acquire",
			want: []string{"probe asked for the lock at 20.000s and never got it [none]"}},
		{name: "an unknown outcome", story: probe + "20.1 probe info acquire",
			want: []string{"probe asked for the lock at 20.000s and never got it [none]"}},
		{name: "another client does not count", story: probe + "21 c2 invoke acquire\n22 c2 ok acquire c2#1 until=30",
			want: []string{"probe asked for the lock at 20.000s and never got it [none]"}},
		{name: "too late and once more", story: probe + "40 probe ok acquire probe#1 until=50\n50 probe invoke acquire\n51 probe ok acquire probe#2 until=60",
			want: []string{"probe asked for the lock at 20.000s and got it only at 40.000s, where 5.000s were allowed [none]"}},
		{name: "at the second try", story: probe + "20.1 probe fail acquire\n24 probe invoke acquire\n24.9 probe ok acquire probe#1 until=34"},
		{name: "at the second try, too late", story: probe + "20.1 probe fail acquire\n24 probe invoke acquire\n25.1 probe ok acquire probe#1 until=34",
			want: []string{"probe asked for the lock at 20.000s and got it only at 25.100s, where 5.000s were allowed [none]"}},
		{name: "without a bound", story: strings.Replace(probe, "bound 5", "bound 0", 1) + "999 probe ok acquire probe#1 until=1000"},
		{name: "the first lease counts", story: probe + "21 probe ok acquire probe#1 until=22\n30 probe invoke acquire\n40 probe ok acquire probe#2 until=50"},
	})
}

package checker

import "testing"

func TestExpiredOnReturn(t *testing.T) {
	const late = "c1 was handed c1#1 at 12.000s, when its clock read 12.000s and the lease had ended at 10.000s"
	testProperty(t, ExpiredOnReturn, []verdictCase{
		{name: "in time", story: `
			0    c1 invoke acquire
			0.1  n1 set c1#1
			0.2  c1 ok acquire c1#1 until=9.9`},
		{name: "with a nanosecond left", story: `
			0    c1 invoke acquire
			10   c1 ok acquire c1#1 until=10.000000001`},
		{name: "with nothing left", story: `
			0    c1 invoke acquire
			10   c1 ok acquire c1#1 until=10`,
			want: []string{"c1 was handed c1#1 at 10.000s, when its clock read 10.000s and the lease had ended at 10.000s [none]"}},
		{name: "without an end", story: `
			0    c1 invoke acquire
			99   c1 ok acquire c1#1 until=never`},
		{name: "a refusal after the end is right", story: `
			0    c1 invoke acquire
			1    c1 fault pause
			12   c1 fault resume
			12   c1 fail acquire`},
		{name: "by the clock of the client, not by true time", story: `
			0    c1 invoke acquire
			12   c1 ok acquire c1#1 until=10 clock=6`},
		{name: "by the clock of the client, though in time", story: `
			0    c1 invoke acquire
			6    c1 ok acquire c1#1 until=10 clock=12`,
			want: []string{"c1 was handed c1#1 at 6.000s, when its clock read 12.000s and the lease had ended at 10.000s [none]"}},
		{name: "a pause", story: `
			0    c1 invoke acquire
			0.1  n1 set c1#1
			1    c1 fault pause
			12   c1 fault resume
			12   c1 ok acquire c1#1 until=10`,
			want: []string{late + " [bounded pause]"}},
		{name: "a pause before the invocation", story: `
			0    c1 fault pause
			1    c1 fault resume
			1    c1 invoke acquire
			12   c1 ok acquire c1#1 until=10`,
			want: []string{late + " [none]"}},
		{name: "a pause of another client", story: `
			0    c1 invoke acquire
			1    c2 fault pause
			12   c1 ok acquire c1#1 until=10`,
			want: []string{late + " [none]"}},
		{name: "a late request", story: `
			0    c1 invoke acquire
			11   n1 deliver c1 sent=0
			11   n1 set c1#1 sent=0
			12   n1 deliver c1 sent=11.9
			12   c1 ok acquire c1#1 until=10`,
			want: []string{late + " [bounded delay]"}},
		{name: "a late reply", story: `
			0    c1 invoke acquire
			12   c1 deliver n1 sent=1
			12   c1 ok acquire c1#1 until=10`,
			want: []string{late + " [bounded delay]"}},
		{name: "a reply that took half a TTL", story: `
			0    c1 invoke acquire
			12   c1 deliver n1 sent=7
			12   c1 ok acquire c1#1 until=10`,
			want: []string{late + " [bounded delay]"}},
		{name: "a late message of another client", story: `
			0    c1 invoke acquire
			12   c2 deliver n1 sent=1
			12   c1 ok acquire c1#1 until=10`,
			want: []string{late + " [none]"}},
		{name: "a late message of an earlier operation", story: `
			0    c1 invoke acquire
			1    c1 fail acquire
			2    c1 invoke acquire
			11   n1 deliver c1 sent=0.5
			12   c1 ok acquire c1#1 until=10`,
			want: []string{late + " [none]"}},
		{name: "a lost message", story: `
			0    c1 invoke acquire
			11   n1 drop c1 sent=1
			12   c1 ok acquire c1#1 until=10`,
			want: []string{late + " [bounded delay]"}},
		{name: "a pause before the first request, after a copy of the key", story: `
			nodes 3
			replica r1
			0    c1 invoke acquire
			0.1  r1 set c1#1 by=n1
			1    c1 fault pause
			3.9  c1 fault resume
			4    n1 set c1#1 sent=4
			16   c1 ok acquire c1#1 until=14`,
			want: []string{"c1 was handed c1#1 at 16.000s, when its clock read 16.000s and the lease had ended at 14.000s [none]"}},
		{name: "a pause and a late message", story: `
			0    c1 invoke acquire
			1    c1 fault pause
			11   n1 deliver c1 sent=0.5
			12   c1 fault resume
			12   c1 ok acquire c1#1 until=10`,
			want: []string{late + " [bounded pause]"}},
	})
}

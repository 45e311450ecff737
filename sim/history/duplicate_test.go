package history_test

import (
	"encoding/json"
	"strings"
	"testing"

	"lockstep/sim/history"
)

func TestDuplicate(t *testing.T) {
	for _, c := range []struct {
		text, name string
		at         int
	}{
		{`{"a":1,"b":2}`, "", 0},
		{`{"a":1,"a":1}`, "a", 7},
		{`{ "a" : 1 , "A" : 2 }`, "A", 12},             // one field to encoding/json
		{`{"a":1,"\u0061":2}`, `a`, 7},                 // the same name, escaped
		{`{"a":"b","b":"a","c":["a","a"]}`, "", 0},     // values
		{`{"a":{"b":1},"b":{"b":1},"c":{}}`, "", 0},    // in different objects
		{`{"a":[{"b":1},{"b":1}],"c":[]}`, "", 0},      //
		{`{"a":[{"b":1,"B":1}]}`, "B", 13},             //
		{`{"a":{"n1":1,"N1":2}}`, "", 0},               // keys of a map
		{`{"a":{"n1":1,"n1":2}}`, "n1", 13},            //
		{`{"a\"":1,"a\\":2,"a":"\"a\":","":1}`, "", 0}, // escaped quotes, which end nothing
		{`{"a":"\":1,\"\":1"}`, "", 0},                 // in a value
		{`{"a":{"b":[1,2,{"c":[]}]},"a":3}`, "a", 26},
		{`"a"`, "", 0},
		{`[1,"a",{"":1,"":2}]`, "", 13},
	} {
		if !json.Valid([]byte(c.text)) {
			t.Fatalf("%s is not JSON", c.text)
		}
		if name, at, ok := history.Duplicate([]byte(c.text)); name != c.name || at != c.at || ok != (at > 0) {
			t.Errorf("%s: %q at %d, want %q at %d", c.text, name, at, c.name, c.at)
		}
	}
}

// A text that is not JSON does no harm, and a long line with a field in every few bytes takes little time.
func TestDuplicateOfAnything(t *testing.T) {
	for _, text := range []string{"", "}", "]]", `{"`, `{"\`, `{"a`, `"a":`, "{,:", `{"a":1}}"a":2`} {
		history.Duplicate([]byte(text))
	}
	var b strings.Builder
	for i := range 1_000_000 {
		b.WriteString(`,"` + strings.Repeat("x", i%7) + string(rune('a'+i%26)) + string(rune(0x4e00+i%20000)) + string(rune(0x4e00+i/20000)) + `":0`)
	}
	if name, _, ok := history.Duplicate([]byte("{" + b.String()[1:] + "}")); ok {
		t.Errorf("%q", name)
	}
}

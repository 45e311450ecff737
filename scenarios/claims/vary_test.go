package claims

import (
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// A mistake in a quantity is told with file and line, and with what is required.
func TestVaryErrors(t *testing.T) {
	for vary, want := range map[string]string{
		"clock-jump: jump n3 +11s":                      "vary must be SCENARIO: STEP, FROM to TO: WHAT, with ? for the value in the step and * for any word, such as pause-after-acquire: pause ?",
		"clock-jump: ? jump n3 ?, +1s to +20s: how far": "vary must be SCENARIO: STEP, FROM to TO: WHAT",
		"clock-jump: jump n3 ?, +1s: how far":           "vary must be SCENARIO: STEP, FROM to TO: WHAT",
		"clock-drift: drift n3 ?, +1ppm to +9ppm: how":  "the scenario must be that of a run of the evidence; clock-drift is not",
		"clock-jump: ttl ?, 20s to 2s: the TTL":         "a quantity must go from a value to a greater one of the same kind, such as 1s to 25s; got 20s to 2s",
		"clock-jump: ttl ?, 2s to 2s: the TTL":          "a quantity must go from a value to a greater one",
		"clock-jump: jump n3 ?, 1s to +20s: how far":    "a quantity must go from a value to a greater one of the same kind",
		"clock-jump: jump n3 ?, 1ppm to 20s: how far":   "a quantity must go from a value to a greater one of the same kind",
		"clock-jump: ttl ?, 2 to 20s: the TTL":          "a quantity must be a duration such as 15s, of at most a day and in whole milliseconds, or a rate such as +13000ppm; not 2",
		"clock-jump: ttl ?, 2s to 25h: the TTL":         "a quantity must be a duration such as 15s, of at most a day",
		"clock-jump: ttl ?, 1us to 1s: the TTL":         "a quantity must be a duration such as 15s, of at most a day and in whole milliseconds",
		"clock-jump: drift n3 ?, 1.5ppm to 9ppm: how":   "a rate must be a number of ppm such as +13000ppm, not 1.5ppm",
	} {
		text := strings.Replace(claim, "draw: clock-jump/redlock", "draw: clock-jump/redlock\nvary: "+vary, 1)
		_, err := load(fstest.MapFS{"chapters/1-basics.txt": {Data: []byte(chapter)}, "1-x1.txt": {Data: []byte(text)}})
		if err == nil || !strings.HasPrefix(err.Error(), "scenarios/claims/1-x1.txt:10: "+want) {
			t.Errorf("%s: error %v, want %q", vary, err, want)
		}
	}
}

// The values are evenly spaced, and include that of the run.
func TestQuantityValues(t *testing.T) {
	for _, tt := range []struct{ from, to, own, want string }{
		{"1s", "4s", "2s", "1s 1100ms 1200ms 1300ms 1400ms 1500ms 1600ms"},
		{"100ms", "104ms", "102ms", "100ms 101ms 102ms 103ms 104ms"},
		{"+1ppm", "+4ppm", "+3ppm", "+1ppm +2ppm +3ppm +4ppm"},
		{"0s", "1s", "0s", "0s 20ms 40ms 60ms"},
		{"+1s", "+2m", "+1500ms", "+1s +1500ms +6s +11s"},
		{"10ms", "14ms", "1s", "10ms 11ms 12ms 13ms 14ms 1s"},
	} {
		values, err := Quantity{From: tt.from, To: tt.to}.Values(tt.own)
		if got := strings.Join(values, " "); err != nil || !strings.HasPrefix(got, tt.want) || len(values) > mostValues+2 || !slices.Contains(values, tt.own) {
			t.Errorf("%s to %s: %s, %v; want %s", tt.from, tt.to, got, err, tt.want)
		}
	}
	if _, err := (Quantity{From: "1s", To: "4s"}).Values("+2s"); err == nil || err.Error() != "+2s must be of the same kind as 1s" {
		t.Errorf("error %v", err)
	}
}

// Each step like that of the quantity gets the value, and nothing else changes.
func TestQuantitySet(t *testing.T) {
	const text = "# A.\n\nttl 10s\n\nclient c1\n  acquire\n  pause 15s\n\nfaults\n  at 1s restart n1 empty\n  at 1s restart n2 empty\n  at 2s restart n1\n"
	for _, tt := range []struct{ step, value, own, old, new string }{
		{"pause ?", "3s", "15s", "  pause 15s", "  pause 3s"},
		{"ttl ?", "500ms", "10s", "ttl 10s", "ttl 500ms"},
		{"at ? restart * empty", "7s", "1s", "  at 1s restart n1 empty\n  at 1s restart n2 empty", "  at 7s restart n1 empty\n  at 7s restart n2 empty"},
		{"at ? restart n1", "7s", "2s", "  at 2s restart n1", "  at 7s restart n1"},
		{"at ? restart n.", "7s", "", "", ""},
		{"paus ?", "7s", "", "", ""},
	} {
		q, err := parseQuantity("x: " + tt.step + ", 1s to 9s: what")
		if err != nil {
			t.Fatal(err)
		}
		own, ok := q.In(text)
		if own != tt.own || ok != (own != "") {
			t.Errorf("%s: %q, %t; want %q", tt.step, own, ok, tt.own)
		}
		if got, want := q.Set(text, tt.value), strings.Replace(text, tt.old, tt.new, 1); got != want {
			t.Errorf("%s:\n%s\nwant\n%s", tt.step, got, want)
		}
	}
}

package claims

import (
	"strings"
	"testing"
	"testing/fstest"
)

// A mistake in what saves is told with file and line, and with what is required.
func TestSaveErrors(t *testing.T) {
	read := func(save, evidence string) error {
		text := strings.Replace(claim, "draw: clock-jump/redlock", "draw: clock-jump/redlock\nvary: clock-jump: jump n3 ?, +1s to +20s: how far\nsave: "+save, 1)
		text = strings.Replace(text, "kind: shown\n", "kind: shown\nevidence: "+evidence+"\n", 1)
		_, err := load(fstest.MapFS{"chapters/1-basics.txt": {Data: []byte(chapter)}, "1-x1.txt": {Data: []byte(text)}})
		return err
	}
	const kept = "clock-jump-back/redlock lease exclusion ok"
	for _, save := range []string{"a step back = clock-jump-back/redlock", "a smaller step = jump n3 +2s"} {
		if err := read(save, kept); err != nil {
			t.Errorf("%s: %v", save, err)
		}
	}
	for _, tt := range []struct{ save, evidence, want string }{
		{"jump n3 +2s", kept, `save must be WHAT = RUN or WHAT = STEP, such as a longer TTL = ttl 20s; cannot read "jump n3 +2s"`},
		{"a = b = jump n3 +2s", kept, "save must be WHAT = RUN or WHAT = STEP"},
		{"another lock = clock-jump/single", kept, "the run in save must be listed as evidence with lease exclusion ok; clock-jump/single is not"},
		{"nothing = clock-jump/redlock", kept, "the run in save must be listed as evidence with lease exclusion ok; clock-jump/redlock is not"},
		{"another step = jump n4 +2s", kept, `the step in save must match a vary line of clock-jump, with a value in place of the ?; no vary line matches "jump n4 +2s"`},
		{"no step = jump n3 +1ms", kept, "the value in save must be one that the slider offers, from +1s to +20s; +1ms is not"},
		{"a smaller step = jump n3 +2s", "clock-jump/redlock owner only ok", "save requires that the evidence first says of the drawn run that a property is violated; the drawn run is clock-jump/redlock"},
	} {
		if err := read(tt.save, tt.evidence); err == nil || !strings.HasPrefix(err.Error(), "scenarios/claims/1-x1.txt:12: "+tt.want) {
			t.Errorf("%s: error %v, want %q", tt.save, err, tt.want)
		}
	}
}

package source

import (
	"os"
	"path/filepath"
	"testing"
)

func TestVariable(t *testing.T) {
	for name, tt := range map[string]struct {
		text, want string
	}{
		"counted":                    {"var next int\n\nfunc f() int { next++; return next }\n", "lock.go:3: next"},
		"assigned":                   {"var a, last string\n\nfunc f(s string) { last = s }\n", "lock.go:3: last"},
		"a field":                    {"var state struct{ n int }\n\nfunc f() { state.n = 3 }\n", "lock.go:3: state"},
		"a map":                      {"var held = map[string]bool{}\n\nfunc f(s string) { held[s] = true }\n", "lock.go:3: held"},
		"deleted":                    {"var held = map[string]bool{}\n\nfunc f(s string) { delete(held, s) }\n", "lock.go:3: held"},
		"by address":                 {"import \"sync/atomic\"\n\nvar next int64\n\nfunc f() int64 { return atomic.AddInt64(&next, 1) }\n", "lock.go:5: next"},
		"a mutex":                    {"import \"sync\"\n\nvar mu sync.Mutex\n\nfunc f() { mu.Lock() }\n", "lock.go:5: mu"},
		"a counter":                  {"import \"sync/atomic\"\n\nvar next = new(atomic.Int64)\n\nfunc f() int64 { return next.Add(1) }\n", "lock.go:5: next"},
		"random numbers":             {"import \"math/rand/v2\"\n\nvar random = rand.New(rand.NewPCG(1, 2))\n\nfunc f() uint64 { return random.Uint64() }\n", "lock.go:5: random"},
		"an embedded mutex":          {"import \"sync\"\n\nvar held struct{ sync.Mutex }\n\nfunc f() { held.Lock() }\n", "lock.go:5: held"},
		"a type of its own":          {"type counter struct{ n int }\n\nfunc (c *counter) next() int { c.n++; return c.n }\n\nvar tokens = &counter{}\n\nfunc f() int { return tokens.next() }\n", "lock.go:7: tokens"},
		"a channel":                  {"var slots = make(chan struct{}, 1)\n\nfunc f() { slots <- struct{}{} }\n", "lock.go:3: slots"},
		"a channel, received":        {"var slots = make(chan int, 1)\n\nfunc f() { <-slots }\n", "lock.go:3: slots"},
		"in a method":                {"type lock struct{}\n\nvar n int\n\nfunc (lock) init() { n = 2 }\n", "lock.go:5: n"},
		"in a function literal":      {"var n int\n\nfunc g() { f := func() { n = 3 }; f() }\n", "lock.go:3: n"},
		"in a literal of a variable": {"var n int\n\nvar f = func() { n = 2 }\n", "lock.go:3: n"},
		"a type of the module":       {"import \"example.com/m/counter\"\n\nvar tokens = counter.New()\n\nfunc f() int { return tokens.Next() }\n", "lock.go:5: tokens"},
		"only read":                  {"var n = 3\n\nfunc f() int { return n }\n", ""},
		"a script":                   {"import \"github.com/redis/go-redis/v9\"\n\nvar del = redis.NewScript(``)\n\nfunc f() { del.Run(nil, nil, nil) }\n", ""},
		"an error":                   {"import \"errors\"\n\nvar errTaken = errors.New(\"\")\n\nfunc f() string { return errTaken.Error() }\n", ""},
		"set at the beginning":       {"var n int\n\nfunc init() { n = 2 }\n\nfunc main() { n = 3 }\n", ""},
		"a local one":                {"var n int\n\nfunc f() int { n := 2; n++; return n }\n", ""},
		"a parameter":                {"var n int\n\nfunc f(n int) int { n++; return n }\n", ""},
		"options":                    {"type options struct{ n int }\n\nfunc (o *options) get() int { return o.n }\n\nvar defaults = &options{1}\n\nfunc f() int { return defaults.get() }\n", ""},
		"a field of a receiver":      {"type lock struct{ n int }\n\nfunc (l *lock) f() { l.n++ }\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "lock.go")
			if err := os.WriteFile(file, []byte("package lock\n\n"+tt.text), 0o666); err != nil {
				t.Fatal(err)
			}
			if got, err := changed([]string{file}, "example.com/m"); got != tt.want || err != nil {
				t.Errorf("%q, %v, want %q", got, err, tt.want)
			}
		})
	}
}

// Only packages of the module under test are searched.
func TestVariableOfLockstep(t *testing.T) {
	if v, err := Variable(".", nil); v != "" || err != nil {
		t.Errorf("%q, %v", v, err)
	}
}

//go:build !js

package source

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestShared(t *testing.T) {
	for name, tt := range map[string]struct {
		text, want string
	}{
		"counted":                       {"var next int\n\nfunc f() int { next++; return next }\n", "lock.go:3: next"},
		"assigned":                      {"var a, last string\n\nfunc f(s string) { last = s }\n", "lock.go:3: last"},
		"a field":                       {"var state struct{ n int }\n\nfunc f() { state.n = 3 }\n", "lock.go:3: state"},
		"a map":                         {"var held = map[string]bool{}\n\nfunc f(s string) { held[s] = true }\n", "lock.go:3: held"},
		"deleted":                       {"var held = map[string]bool{}\n\nfunc f(s string) { delete(held, s) }\n", "lock.go:3: held"},
		"closed":                        {"var done = make(chan struct{})\n\nfunc f() { close(done) }\n", "lock.go:3: done"},
		"cleared":                       {"var buffer = make([]byte, 9)\n\nfunc f() { clear(buffer) }\n", "lock.go:3: buffer"},
		"copied to":                     {"var buffer = make([]byte, 9)\n\nfunc f(b []byte) { copy(buffer, b) }\n", "lock.go:3: buffer"},
		"copied to a part":              {"var buffer = make([]byte, 9)\n\nfunc f(b []byte) { copy(buffer[1:], b) }\n", "lock.go:3: buffer"},
		"copied from":                   {"var table = []byte{1, 2}\n\nfunc f(b []byte) { copy(b, table) }\n", ""},
		"by pointer":                    {"var p = new(int)\n\nfunc f() { *p = 3 }\n", "lock.go:3: p"},
		"in parentheses":                {"var n int\n\nfunc f() { (n)++ }\n", "lock.go:3: n"},
		"of a package that is not read": {"import \"example.org/ids\"\n\nfunc f() { ids.Last++ }\n", ""},
		"in the head of a loop":         {"var i int\n\nfunc f() {\n\tfor i = range 3 {\n\t}\n}\n", "lock.go:3: i"},
		"two":                           {"var a, b int\n\nfunc f() { b = 2; a = 3 }\n", "lock.go:3: a"},
		"by address":                    {"import \"sync/atomic\"\n\nvar next int64\n\nfunc f() int64 { return atomic.AddInt64(&next, 1) }\n", "lock.go:5: next"},
		"a mutex":                       {"import \"sync\"\n\nvar mu sync.Mutex\n\nfunc f() { mu.Lock() }\n", "lock.go:5: mu"},
		"a group":                       {"import \"golang.org/x/sync/singleflight\"\n\nvar calls singleflight.Group\n\nfunc f() { calls.Do(\"\", nil) }\n", "lock.go:5: calls"},
		"a type with a mutex":           {"import \"sync\"\n\ntype locked struct{ mu sync.Mutex }\n\nvar held locked\n\nfunc f() { held.mu.Lock() }\n", "lock.go:7: held"},
		"a big number":                  {"import (\n\t\"math\"\n\t\"math/big\"\n)\n\nvar most = big.NewInt(math.MaxInt64)\n\nfunc f() { most.Add(most, most) }\n", "lock.go:8: most"},
		"a counter":                     {"import \"sync/atomic\"\n\nvar next = new(atomic.Int64)\n\nfunc f() int64 { return next.Add(1) }\n", "lock.go:5: next"},
		"random numbers":                {"import \"math/rand/v2\"\n\nvar random = rand.New(rand.NewPCG(1, 2))\n\nfunc f() uint64 { return random.Uint64() }\n", "lock.go:5: random"},
		"an embedded mutex":             {"import \"sync\"\n\nvar held struct{ sync.Mutex }\n\nfunc f() { held.Lock() }\n", "lock.go:5: held"},
		"a type of its own":             {"type counter struct{ n int }\n\nfunc (c *counter) next() int { c.n++; return c.n }\n\nvar tokens = &counter{}\n\nfunc f() int { return tokens.next() }\n", "lock.go:7: tokens"},
		"a channel":                     {"var slots = make(chan struct{}, 1)\n\nfunc f() { slots <- struct{}{} }\n", "lock.go:3: slots"},
		"a channel, received":           {"var slots = make(chan int, 1)\n\nfunc f() { <-slots }\n", "lock.go:3: slots"},
		"in a method":                   {"type lock struct{}\n\nvar n int\n\nfunc (lock) init() { n = 2 }\n", "lock.go:5: n"},
		"in a function literal":         {"var n int\n\nfunc g() { f := func() { n = 3 }; f() }\n", "lock.go:3: n"},
		"in a literal of a variable":    {"var n int\n\nvar f = func() { n = 2 }\n", "lock.go:3: n"},
		"a closure":                     {"var next = func() func() int { n := 0; return func() int { n++; return n } }()\n\nfunc f() int { return next() }\n", "lock.go:3: next"},
		"a function by a library":       {"import \"example.org/ids\"\n\nvar next = ids.From(3)\n\nfunc f() int { return next() }\n", "lock.go:5: next"},
		"a method value":                {"import \"sync/atomic\"\n\nvar next = new(atomic.Int64).Add\n\nfunc f() int64 { return next(1) }\n", "lock.go:5: next"},
		"a function that changes a map": {"var counts = map[string]int{}\n\nfunc count(m map[string]int) { m[\"\"]++ }\n\nfunc f() { count(counts) }\n", "lock.go:3: counts"},
		"a part that a function gets":   {"type counter struct{ n int }\n\nfunc (c *counter) next() int { c.n++; return c.n }\n\nvar all struct{ c *counter }\n\nfunc use(c *counter) {}\n\nfunc f() { use(all.c) }\n", "lock.go:7: all"},
		"a generic type":                {"type counter[T ~int] struct{ n T }\n\nfunc (c *counter[T]) next() T { c.n++; return c.n }\n\nvar tokens counter[int]\n\nfunc f() int { return tokens.next() }\n", "lock.go:7: tokens"},
		"a part of its own type":        {"type counter struct{ n int }\n\nfunc (c *counter) next() int { c.n++; return c.n }\n\ntype all struct{ c counter }\n\nfunc (a *all) next() int { return a.c.next() }\n\nvar tokens all\n\nfunc f() int { return tokens.next() }\n", "lock.go:11: tokens"},
		"random for each process":       {"import \"crypto/rand\"\n\nvar process = rand.Text()\n\nfunc f() string { return process }\n", "lock.go:5: process"},
		"random, and something else":    {"import (\n\t\"crypto/rand\"\n\t\"strings\"\n)\n\nvar process = rand.Text() + strings.ToLower(\"A\")\n\nfunc f() string { return process }\n", "lock.go:8: process"},
		"random, with arguments":        {"import \"crypto/rand\"\n\nvar process, _ = rand.Prime(rand.Reader, 64)\n\nfunc f() any { return process }\n", "lock.go:5: process"},
		"by a method of its own":        {"import \"crypto/rand\"\n\ntype ids struct{}\n\nfunc (ids) next(n int) string { return rand.Text()[:n] }\n\nvar process = ids{}.next(16)\n\nfunc f() string { return process }\n", "lock.go:9: process"},
		"by a method as a function":     {"import \"crypto/rand\"\n\ntype ids struct{}\n\nfunc (ids) next() string { return rand.Text() }\n\nvar process = ids.next(ids{})\n\nfunc f() string { return process }\n", "lock.go:9: process"},
		"the second result":             {"import \"os\"\n\nvar _, err = os.Hostname()\n\nfunc f() error { return err }\n", "lock.go:5: err"},
		"of the host, set in init":      {"import \"os\"\n\nvar (\n\thost string\n\terr error\n)\n\nfunc init() { host, err = os.Hostname() }\n\nfunc f() string { return host }\n", "lock.go:6: host"},
		"of the process":                {"import \"os\"\n\nvar pid = os.Getpid()\n\nfunc f() int { return pid }\n", "lock.go:5: pid"},
		"of the host":                   {"import \"os\"\n\nvar host, _ = os.Hostname()\n\nfunc f() string { return host }\n", "lock.go:5: host"},
		"by a function of its own":      {"import \"crypto/rand\"\n\nfunc token(n int) string { return rand.Text()[:n] }\n\nvar process = token(16)\n\nfunc f() string { return process }\n", "lock.go:7: process"},
		"of another package":            {"import \"example.com/m/go-ids\"\n\nfunc f() int { return ids.Default.Next() }\n-- go-ids\npackage ids\n\ntype IDs struct{ n int }\n\nfunc (i *IDs) Next() int { i.n++; return i.n }\n\nvar Default = &IDs{}\n", "example.com/m/go-ids/ids.go:7: Default"},
		"by another package":            {"import \"example.com/m/go-ids\"\n\nfunc f() { ids.Last++ }\n-- go-ids\npackage ids\n\nvar Last int\n", "example.com/m/go-ids/ids.go:3: Last"},
		"a type of another package":     {"import \"example.com/m/go-ids\"\n\nvar mine ids.IDs\n\nfunc f() int { return mine.Next() }\n-- go-ids\npackage ids\n\ntype IDs struct{ n int }\n\nfunc (i *IDs) Next() int { i.n++; return i.n }\n", "lock.go:5: mine"},
		"a script of another package":   {"import \"example.com/m/go-ids\"\n\nfunc f() { ids.Del.Run(nil, nil, nil) }\n-- go-ids\npackage ids\n\nimport \"github.com/redis/go-redis/v9\"\n\nvar Del = redis.NewScript(``)\n", ""},
		"a function":                    {"import \"time\"\n\nvar now = time.Now\n\nfunc f() time.Time { return now() }\n", ""},
		"a logger":                      {"import (\n\t\"log\"\n\t\"os\"\n)\n\nvar logger = log.New(os.Stderr, \"\", 0)\n\nfunc f() { logger.Print() }\n", ""},
		"a singleton":                   {"type counter struct{ n int }\n\nfunc (c *counter) next() int { c.n++; return c.n }\n\nvar tokens = &counter{}\n\nfunc f() *counter { return tokens }\n", "lock.go:7: tokens"},
		"behind an interface":           {"type counter struct{ n int }\n\nfunc (c *counter) next() int { c.n++; return c.n }\n\nvar tokens interface{ next() int } = &counter{}\n\nfunc f() int { return tokens.next() }\n", "lock.go:7: tokens"},
		"a singleton, set in init":      {"type counter struct{ n int }\n\nfunc (c *counter) next() int { c.n++; return c.n }\n\nvar tokens *counter\n\nfunc init() { tokens = &counter{} }\n\nfunc f() *counter { return tokens }\n", "lock.go:7: tokens"},
		"a type with another name":      {"type (\n\tcounter struct{ n int }\n\tids = counter\n)\n\nfunc (c *counter) next() int { c.n++; return c.n }\n\nvar tokens ids\n\nfunc f() int { return tokens.next() }\n", "lock.go:10: tokens"},
		"a map with methods":            {"type names map[string]bool\n\nfunc (n names) take(s string) { n[s] = true }\n\nvar held = names{}\n\nfunc f() { held.take(\"\") }\n", "lock.go:7: held"},
		"random, set in init":           {"import \"crypto/rand\"\n\nvar process string\n\nfunc init() { process = rand.Text() }\n\nfunc f() string { return process }\n", "lock.go:5: process"},
		"the name of the host":          {"import \"os\"\n\nfunc f() { os.Hostname() }\n", "lock.go:5: os.Hostname"},
		"a table":                       {"var codes = map[string]int{}\n\nfunc f(s string) int { return codes[s] }\n", ""},
		"a channel in a loop":           {"var jobs = make(chan int)\n\nfunc f() {\n\tfor range jobs {\n\t}\n}\n", "lock.go:3: jobs"},
		"a part of a singleton":         {"type counter struct{ n int }\n\nfunc (c *counter) next() int { c.n++; return c.n }\n\nvar all struct{ c counter }\n\nfunc f() int { return all.c.next() }\n", "lock.go:7: all"},
		"the length of a table":         {"var codes = map[string]int{}\n\nfunc f() int { return len(codes) }\n", ""},
		"a length":                      {"var n = len(\"abc\")\n\nfunc f() int { return n }\n", ""},
		"a conversion":                  {"var n = int64(3)\n\nfunc f() int64 { return n }\n", ""},
		"a function that calls one":     {"import \"crypto/rand\"\n\nvar token = func() string { return rand.Text() }\n\nfunc f() string { return token() }\n", ""},
		"the text of an error":          {"type taken struct{}\n\nfunc (taken) Error() string { return \"taken\" }\n\nvar err error = taken{}\n\nvar text = err.Error()\n\nfunc f() string { return text }\n", ""},
		"a method of a copy":            {"type options struct{ n int }\n\nfunc (o options) with(n int) options { o.n = n; return o }\n\nvar defaults options\n\nfunc f() options { return defaults.with(3) }\n", ""},
		"a map, converted":              {"type names map[string]bool\n\nvar held = map[string]bool{}\n\nfunc f() names { return names(held) }\n", ""},
		"a method of a library":         {"import \"example.org/ids\"\n\nvar id = ids.From(3).Next()\n\nfunc f() string { return id }\n", ""},
		"a package with a similar name": {"import \"sync.example.org/ids\"\n\nvar all ids.Table\n\nfunc f() { all.Get(3) }\n", ""},
		"the host of a URL":             {"import \"net/url\"\n\nfunc f(u *url.URL) string { return u.Hostname() }\n", ""},
		"the first context":             {"import \"context\"\n\nvar background = context.Background()\n\nfunc f() context.Context { return background }\n", ""},
		"another function of os":        {"import \"os\"\n\nfunc f() { os.Exit(1) }\n", ""},
		"only read":                     {"var n = 3\n\nfunc f() int { return n }\n", ""},
		"a script":                      {"import \"github.com/redis/go-redis/v9\"\n\nvar del = redis.NewScript(``)\n\nfunc f() { del.Run(nil, nil, nil) }\n", ""},
		"an error":                      {"import \"errors\"\n\nvar errTaken = errors.New(\"\")\n\nfunc f() string { return errTaken.Error() }\n", ""},
		"set at the beginning":          {"var n int\n\nfunc init() { n = 2 }\n\nfunc main() { n = 3 }\n", ""},
		"a local one":                   {"var n int\n\nfunc f() int { n := 2; n++; return n }\n", ""},
		"a local one of a loop":         {"var i int\n\nfunc f() {\n\tfor i := range 3 {\n\t\t_ = i\n\t}\n}\n", ""},
		"a parameter":                   {"var n int\n\nfunc f(n int) int { n++; return n }\n", ""},
		"options":                       {"type options struct{ n int }\n\nfunc (o *options) get() int { return o.n }\n\nvar defaults = &options{1}\n\nfunc f() int { return defaults.get() }\n", ""},
		"a field of a receiver":         {"type lock struct{ n int }\n\nfunc (l *lock) f() { l.n++ }\n", ""},
		"made of functions":             {"type spec struct {\n\tname string\n\ttake func() bool\n}\n\nfunc build(s spec) func() bool { return func() bool { return s.take() } }\n\nvar newLock = build(spec{name: \"a\", take: func() bool { return true }})\n\nfunc f() bool { return newLock() }\n", ""},
		"made of a function":            {"func build(n int, take func() bool) func() bool { return func() bool { return n > 0 && take() } }\n\nfunc take() bool { return true }\n\nvar newLock = build(3, take)\n\nfunc f() bool { return newLock() }\n", ""},
		"made of functions, and random": {"import \"crypto/rand\"\n\ntype spec struct {\n\tname string\n\ttake func() bool\n}\n\nfunc build(s spec) func() bool { return func() bool { return s.take() } }\n\nvar newLock = build(spec{name: rand.Text()})\n\nfunc f() bool { return newLock() }\n", "lock.go:12: newLock"},
		"made of a counter":             {"type counter struct{ n int }\n\nfunc (c *counter) take() bool { c.n++; return true }\n\nvar c counter\n\ntype spec struct {\n\tname string\n\ttake func() bool\n}\n\nfunc build(s spec) func() bool { return func() bool { return s.take() } }\n\nvar newLock = build(spec{take: c.take})\n\nfunc f() bool { return newLock() }\n", "lock.go:16: newLock"},
		"made of a new counter":         {"type counter struct{ n int }\n\nfunc (c *counter) take() bool { c.n++; return true }\n\ntype spec struct {\n\tname string\n\ttake func() bool\n}\n\nfunc build(s spec) func() bool { return func() bool { return s.take() } }\n\nvar newLock = build(spec{take: (&counter{}).take})\n\nfunc f() bool { return newLock() }\n", "lock.go:14: newLock"},
		"made of a map":                 {"func build(m map[string]bool) func() bool { return func() bool { return m[\"\"] } }\n\nvar newLock = build(map[string]bool{})\n\nfunc f() bool { return newLock() }\n", "lock.go:5: newLock"},
		"made of a pointer":             {"type state struct{ n int }\n\nfunc build(s *state) func() bool { return func() bool { return s.n > 0 } }\n\nvar newLock = build(nil)\n\nfunc f() bool { return newLock() }\n", "lock.go:7: newLock"},
		"a parameter that is counted":   {"func build(n int) func() int { return func() int { n++; return n } }\n\nvar next = build(3)\n\nfunc f() int { return next() }\n", "lock.go:5: next"},
		"a parameter with a mutex":      {"import \"sync\"\n\nfunc build(mu sync.Mutex) func() { return func() { mu.Lock() } }\n\nvar next = build(sync.Mutex{})\n\nfunc f() { next() }\n", "lock.go:7: next"},
		"a parameter that counts":       {"type counter struct{ n int }\n\nfunc (c *counter) next() int { c.n++; return c.n }\n\nfunc build(c counter) func() int { return func() int { return c.next() } }\n\nvar next = build(counter{})\n\nfunc f() int { return next() }\n", "lock.go:9: next"},
		"a function with a variable":    {"func build() func() int {\n\tn := 0\n\treturn func() int { n++; return n }\n}\n\nvar next = build()\n\nfunc f() int { return next() }\n", "lock.go:8: next"},
		"made of a closure":             {"type spec struct {\n\tname string\n\ttake func() bool\n}\n\nfunc build(s spec) func() bool { return func() bool { return s.take() } }\n\nvar take = func() func() bool { n := 0; return func() bool { n++; return n > 3 } }()\n\nvar newLock = build(spec{take: take})\n\nfunc f() bool { return newLock() }\n", "lock.go:12: newLock"},
		"made of a method of a map":     {"type spec struct {\n\tname string\n\ttake func() bool\n}\n\nfunc build(s spec) func() bool { return func() bool { return s.take() } }\n\ntype names map[string]bool\n\nfunc (n names) take() bool { n[\"a\"] = true; return true }\n\nvar newLock = build(spec{take: names{}.take})\n\nfunc f() bool { return newLock() }\n", "lock.go:14: newLock"},
		"made of an address":            {"import \"example.org/ids\"\n\ntype counter struct{ n int }\n\nfunc build(s ids.Source) func() bool { return func() bool { return s.Next() } }\n\nvar newLock = build(&counter{})\n\nfunc f() bool { return newLock() }\n", "lock.go:9: newLock"},
		"made of a mutex in a type":     {"import \"sync\"\n\ntype spec struct{ mu sync.Mutex }\n\nfunc build(s spec) func() { return func() { s.mu.Lock() } }\n\nvar newLock = build(spec{})\n\nfunc f() { newLock() }\n", "lock.go:9: newLock"},
		"made by a made one":            {"func build(n int) func() int { return func() int { return n } }\n\nvar one = build(1)\n\nfunc again(g func() int) func() int { return func() int { return g() } }\n\nvar two = again(build(2))\n\nfunc f() int { return one() + two() }\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			lock, other, _ := strings.Cut(tt.text, "-- go-ids\n")
			files := map[string]string{"go.mod": "module example.com/m\n\ngo 1.26\n", "lock.go": "package lock\n\n" + lock, "go-ids/ids.go": other}
			for name, text := range files {
				if text == "" {
					continue
				}
				os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o777)
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
					t.Fatal(err)
				}
			}
			if got, err := Shared(dir, []string{"-e"}); got != tt.want || err != nil {
				t.Errorf("%q, %v, want %q", got, err, tt.want)
			}
		})
	}
}

func TestSharedWithoutSource(t *testing.T) {
	if v, err := Shared(t.TempDir(), nil); err == nil {
		t.Errorf("in an empty directory: %q", v)
	}
	dir := t.TempDir()
	for name, text := range map[string]string{"go.mod": "module example.com/m\n\ngo 1.26\n", "lock.go": "package lock\n\nvar n int\n\nfunc f( { n++ }\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if v, err := Shared(dir, []string{"-e"}); err == nil {
		t.Errorf("of a file that is no Go: %q", v)
	}
}

// The test in a package may change its variables.
func TestSharedInTest(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod": "module example.com/m\n\ngo 1.26\n", "lock.go": "package lock\n\nvar n int\n", "lock_test.go": "package lock\n\nfunc f() { n++ }\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if v, err := Shared(dir, nil); v != "lock.go:3: n" || err != nil {
		t.Errorf("%q, %v", v, err)
	}
}

// Only packages of the module under test are searched.
func TestSharedOfLockstep(t *testing.T) {
	if v, err := Shared(".", nil); v != "" || err != nil {
		t.Errorf("%q, %v", v, err)
	}
}

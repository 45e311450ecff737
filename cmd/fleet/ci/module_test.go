package ci

import (
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// flawed is a lock that releases with GET, a comparison and DEL, so it can delete the key of another client.
const flawed = `package flawed

import (
	"context"
	"crypto/rand"
	"testing"
	"time"

	"lockstep/clients"
	"lockstep/scenarios"
)

type lock struct{ clients.Env }

type lease struct {
	lock
	key, token string
	until      time.Time
}

func (l lock) Acquire(ctx context.Context, key string, ttl time.Duration) (clients.Lease, error) {
	h := lease{l, key, rand.Text(), l.Clock.Now().Add(ttl)}
	ok, err := l.Nodes[0].SetNX(ctx, key, h.token, ttl).Result()
	switch {
	case err != nil:
		return nil, err
	case !ok || !l.Clock.Now().Before(h.until):
		return nil, clients.ErrNotAcquired
	}
	return h, nil
}

func (h lease) Until() time.Time { return h.until }

func (h lease) Release(ctx context.Context) error {
	switch got, err := h.Nodes[0].Get(ctx, h.key).Result(); {
	case err != nil:
		return err
	case got != h.token:
		return clients.ErrNotHeld
	}
	return h.Nodes[0].Del(ctx, h.key).Err()
}

func TestFlawed(t *testing.T) {
	scenarios.Test(t, func(env clients.Env) clients.Locker { return lock{env} }, scenarios.Like("single"))
}
`

// newModule makes a module with the lock of README.md and, if asked, a flawed one. It is tidy, but replaces Lockstep by a directory that only
// the author has.
func newModule(t *testing.T, dir string, withFlawed bool) {
	t.Helper()
	readme := regexp.MustCompile("(?s)## Your lock, in ten lines\n[^`]*`mylock_test.go`[^`]*\n```go\n(.*?)```").FindStringSubmatch(read(t, filepath.Join(repository, "README.md")))
	if readme == nil {
		t.Fatal("README.md shows no lock in ten lines")
	}
	write(t, filepath.Join(dir, "sound/mylock_test.go"), readme[1])
	if withFlawed {
		write(t, filepath.Join(dir, "flawed/flawed_test.go"), flawed)
	}
	write(t, filepath.Join(dir, "go.mod"), "module mylock\n\ngo 1.26\n\nrequire lockstep v0.0.0\n\nreplace lockstep => "+repository+"\n")
	c := exec.Command("bash", "-euc", "go mod tidy && go mod edit -replace lockstep=/home/author/lockstep")
	c.Dir, c.Env = dir, append(environ(), "GOPROXY="+proxy) // tidy needs modules that no other command of this repository needs
	out, status := script(t, c)
	says(t, out, status, 0)
}

// proxy is where the go command gets modules from.
var proxy = strings.TrimSpace(string(must(exec.Command("go", "env", "GOPROXY").Output())))

// kept demands that the tests of a package have kept their pages and their reports.
func kept(t *testing.T, dir string, want ...string) {
	t.Helper()
	all := strings.Join(must(filepath.Glob(filepath.Join(dir, "_artifacts/*/*"))), "\n") + strings.Join(must(filepath.Glob(filepath.Join(dir, "_artifacts/*/*/*"))), "\n") + strings.Join(must(filepath.Glob(filepath.Join(dir, "_artifacts/*/*/*/*"))), "\n")
	for _, w := range want {
		if !strings.Contains(all, w) {
			t.Errorf("%s has no %s:\n%s", dir, w, all)
		}
	}
}

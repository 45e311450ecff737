package redisserver

import (
	"errors"
	"strings"
	"testing"
)

func TestServerTakesAnotherPort(t *testing.T) {
	t.Parallel()
	if err := Find(); err != nil {
		t.Skip(err) // like all tests of servers; the others fail in CI
	}
	s, err := Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Stop)
	rival := &Server{ctx: t.Context(), path: s.path, dir: t.TempDir(), addr: s.Addr()}
	if err := rival.launch(); !errors.Is(err, errTaken) {
		t.Errorf("on a port that is taken: %v, want errTaken", err)
	} else if !strings.Contains(err.Error(), "bind") {
		t.Errorf("the error does not say what redis-server said: %v", err)
	}
	if err := rival.start(); err != nil {
		t.Errorf("on another port: %v", err)
	}
	rival.kill()
}

package redisserver_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"lockstep/nodes/redisserver"
)

func TestFind(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("PATH", dir)
	if err := redisserver.Find(); !errors.Is(err, redisserver.ErrNoServer) {
		t.Errorf("with an empty PATH: %v, want ErrNoServer", err)
	}
	if _, err := redisserver.Start(t.Context()); !errors.Is(err, redisserver.ErrNoServer) {
		t.Errorf("Start with an empty PATH: %v, want ErrNoServer", err)
	}
	for said, want := range map[string]string{
		"Redis server v=6.2.14 sha=00000000:0 malloc=jemalloc-5.2.1 bits=64": "is version 6.2.14; Lockstep needs 7 or newer",
		"what?":                                 "does not say its version",
		"Redis server v=10.0.1 sha=00000000:0":  "",
		"Valkey server v=8.1.0 sha=00000000:0 ": "",
	} {
		script := "#!/bin/sh\necho '" + said + "'\n"
		if err := os.WriteFile(filepath.Join(dir, "redis-server"), []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
		err := redisserver.Find()
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", said, err, want)
		}
	}
}

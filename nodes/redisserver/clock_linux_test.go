package redisserver

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// An error says why a server cannot have its own clock.
func TestCanSetClocks(t *testing.T) {
	if err := CanSetClocks(); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	path, err := Path()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	script := "#!/bin/sh\nexec " + path + " \"$@\"\n"
	if err := os.WriteFile(filepath.Join(dir, "redis-server"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	before := os.Getenv("PATH")
	t.Setenv("PATH", dir+string(filepath.ListSeparator)+before)
	if err := CanSetClocks(); !errors.Is(err, ErrNoClocks) {
		t.Errorf("a script: %v", err)
	}
	t.Setenv("PATH", before)
	clock, err := NewClock(filepath.Join(dir, "none.so"), filepath.Join(dir, "clock"))
	if err != nil {
		t.Fatal(err)
	}
	defer clock.Close()
	if s, err := StartIn(t.Context(), path, "", clock); !errors.Is(err, ErrNoClocks) {
		t.Errorf("a library that cannot be loaded: %v, %v", s, err)
	}
	// On a file system that is mounted noexec, the library can be read but not executed.
	file := filepath.Join(dir, "read.so")
	if err := os.WriteFile(file, make([]byte, 4096), 0o600); err != nil {
		t.Fatal(err)
	}
	mapped, err := mapFile(file, 4096)
	if err != nil {
		t.Fatal(err)
	}
	defer unmap(mapped)
	if err := (&Clock{library: file}).loaded(os.Getpid()); !errors.Is(err, ErrNoClocks) {
		t.Errorf("a library that is only read: %v", err)
	}
}

package overlay

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// When it is interrupted, the go command ends at once, with what it has started, and leaves no temporary files.
func TestGoInterrupted(t *testing.T) {
	tmp, src := t.TempDir(), t.TempDir()
	t.Setenv("TMPDIR", tmp)
	t.Setenv("TMP", tmp)
	text := "package main\n\nimport _ \"net/http\"\n\nfunc main() {}\n"
	if err := os.WriteFile(filepath.Join(src, "main.go"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	start := time.Now()
	_, said, err := Go(ctx, src, []string{"GOCACHE=" + t.TempDir(), "GO111MODULE=off"}, "build", "-o", filepath.Join(src, "program"), "main.go")
	if err == nil || ctx.Err() == nil {
		t.Fatalf("%v: %s", err, said)
	}
	if took := time.Since(start); took > 5*time.Second {
		t.Errorf("it took %v to end", took)
	}
	if left, err := os.ReadDir(tmp); err != nil || len(left) > 0 {
		t.Errorf("%v, %v", left, err)
	}
}

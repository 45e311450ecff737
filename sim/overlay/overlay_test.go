package overlay

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The overlay names each changed and each added file of the standard library, and what stands in its place. Written again, it is the same.
func TestWrite(t *testing.T) {
	dir := t.TempDir()
	changes := []Change{{File: "errors/errors.go", Old: "package errors\n", New: "package errors // changed\n", N: 1}}
	added := map[string][]byte{"errors/added.go": []byte("package errors\n")}
	write := func() string {
		t.Helper()
		file, err := Write(t.Context(), ".", dir, "test", changes, added)
		if err != nil {
			t.Fatal(err)
		}
		return file
	}
	file := write()
	if again := write(); again != file {
		t.Errorf("%s, then %s", file, again)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var overlay struct{ Replace map[string]string }
	if err := json.Unmarshal(text, &overlay); err != nil {
		t.Fatal(err)
	}
	for path, by := range overlay.Replace {
		text, err := os.ReadFile(by)
		if changed := strings.Contains(string(text), "package errors // changed\n"); err != nil || changed != (filepath.Base(path) == "errors.go") {
			t.Errorf("%s is replaced by %s, %v:\n%.100s", path, by, err, text)
		}
	}
	if len(overlay.Replace) != 2 {
		t.Errorf("%v", overlay.Replace)
	}
}

// Another release of Go is refused.
func TestWriteRefuses(t *testing.T) {
	_, err := Write(t.Context(), ".", t.TempDir(), "test", []Change{{File: "errors/errors.go", Old: "func Older(", N: 1}}, nil)
	if err == nil || !strings.Contains(err.Error(), `errors.go contains "func Older(" 0 times, not 1`) {
		t.Error(err)
	}
}

// Without a directory in which the go command could run, nothing is known about the standard library.
func TestWriteElsewhere(t *testing.T) {
	_, err := Write(t.Context(), filepath.Join(t.TempDir(), "missing"), t.TempDir(), "test", nil, nil)
	if err == nil || !strings.HasPrefix(err.Error(), "go env GOROOT: ") {
		t.Error(err)
	}
}

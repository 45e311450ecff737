package files

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// lacking skips a test on a system that lacks links or devices; in CI it fails.
func lacking(t *testing.T, err error) {
	t.Helper()
	if os.Getenv("CI") != "" {
		t.Fatal(err)
	}
	t.Skip(err)
}

// What a link leads to is written, also where nothing is there yet, and the link stays.
func TestWriteThroughLinks(t *testing.T) {
	there, here := t.TempDir(), t.TempDir()
	target, link, second := filepath.Join(there, "page"), filepath.Join(here, "first"), filepath.Join(here, "second")
	if err := os.Symlink(target, link); err != nil {
		lacking(t, err)
	}
	if err := os.Symlink("first", second); err != nil { // from the directory that it is in
		t.Fatal(err)
	}
	for _, want := range []string{"of nothing", "of the old"} {
		if err := Write(t.Context(), second, []byte(want)); err != nil {
			t.Fatal(err)
		}
		if data, err := os.ReadFile(target); err != nil || string(data) != want {
			t.Errorf("the file has %q, %v; want %q", data, err, want)
		}
	}
	for _, name := range []string{link, second} {
		if info, err := os.Lstat(name); err != nil || info.Mode()&os.ModeSymlink == 0 {
			t.Errorf("%s is now %v, %v", name, info.Mode(), err)
		}
	}
	alone(t, there, "page")
	alone(t, here, "first", "second")

	round := filepath.Join(here, "round")
	if err := os.Symlink("round", round); err != nil {
		t.Fatal(err)
	}
	if err := Write(t.Context(), round, nil); err == nil {
		t.Error("a link that leads to itself was written")
	}
}

// A file whose directory is reached through a link and back is where the system looks for it.
func TestWriteBesideLinkedDirectory(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "far", "away"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join("far", "away"), filepath.Join(dir, "near")); err != nil {
		lacking(t, err)
	}
	if err := Write(t.Context(), dir+"/near/../x", []byte("x")); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "far", "x")); err != nil {
		t.Error(err)
	}
	alone(t, dir, "far", "near")
}

// Who could read a file can read the new one, and nobody else.
func TestWriteKeepsMode(t *testing.T) {
	name := filepath.Join(t.TempDir(), "x")
	if err := os.WriteFile(name, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	before, err := os.Stat(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := Write(t.Context(), name, []byte("new")); err != nil {
		t.Fatal(err)
	}
	if after, err := os.Stat(name); err != nil || after.Mode() != before.Mode() {
		t.Errorf("the mode was %v, and is %v, %v", before.Mode(), after.Mode(), err)
	}
}

// An error is about the file that was named, and leaves nothing behind.
func TestWriteFails(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "there"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"there": "write there: is a directory", "nowhere/x": "write nowhere/x: "} {
		err := Write(t.Context(), filepath.Join(dir, name), []byte("x"))
		if err == nil || !strings.HasPrefix(filepath.ToSlash(strings.ReplaceAll(err.Error(), dir+string(filepath.Separator), "")), want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	alone(t, dir, "there")
}

// alone fails if there is anything in a directory but these.
func alone(t *testing.T, dir string, want ...string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if err != nil || strings.Join(names, " ") != strings.Join(want, " ") {
		t.Errorf("%s has %q, %v; want %q", dir, names, err, want)
	}
}

func TestReadLimit(t *testing.T) {
	name := filepath.Join(t.TempDir(), "x")
	if err := os.WriteFile(name, make([]byte, 1<<20), 0o644); err != nil {
		t.Fatal(err)
	}
	if data, err := Read(t.Context(), name, 1<<20); err != nil || len(data) != 1<<20 {
		t.Errorf("read %d bytes, %v", len(data), err)
	}
	if _, err := Read(t.Context(), name, 1<<20-1); err == nil || !strings.Contains(err.Error(), name+": the file is larger than") {
		t.Errorf("read with %v", err)
	}
	if _, err := Read(t.Context(), name+"y", 1); !errors.Is(err, fs.ErrNotExist) || err.Error() != name+"y: there is no such file" {
		t.Errorf("read with %v", err)
	}
	if _, err := Read(t.Context(), filepath.Dir(name), 1<<20); err == nil || !strings.Contains(err.Error(), ": that is a directory; name a file in it") {
		t.Errorf("read with %v", err)
	}
}

// A text in another encoding is refused, and the error names the encoding.
func TestReadRefusesOtherEncodings(t *testing.T) {
	name := filepath.Join(t.TempDir(), "page.txtar")
	for _, c := range []struct{ text, want string }{
		{"\xef\xbb\xbf# A title.\n", ":1: the file begins with a byte order mark (BOM); it must be UTF-8 without one"},
		{"\xff\xfe#\x00", ":1: the file is UTF-16; it must be UTF-8"},
		{"\xfe\xff\x00#", ":1: the file is UTF-16; it must be UTF-8"},
		{"# A title.\n", ""},
	} {
		if err := os.WriteFile(name, []byte(c.text), 0o644); err != nil {
			t.Fatal(err)
		}
		if data, err := Read(t.Context(), name, 100); c.want == "" && (err != nil || string(data) != c.text) || c.want != "" && (err == nil || err.Error() != name+c.want) {
			t.Errorf("%q: %q, %v; want %q", c.text, data, err, c.want)
		}
	}
}

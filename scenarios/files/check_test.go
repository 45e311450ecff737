package files

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// What can be written is said to be, and nothing of the try is left.
func TestCheckWhatCanBeWritten(t *testing.T) {
	dir := t.TempDir()
	page := filepath.Join(dir, "page")
	if err := os.WriteFile(page, []byte("old"), 0o444); err != nil { // which is replaced
		t.Fatal(err)
	}
	for _, err := range []error{
		CheckWritable(page), CheckWritable(filepath.Join(dir, "new")), CheckDir(dir), CheckDir(filepath.Join(dir, "new", "newer")), MakeDir(dir),
	} {
		if err != nil {
			t.Error(err)
		}
	}
	alone(t, dir, "page")
	if data, err := os.ReadFile(page); err != nil || string(data) != "old" {
		t.Errorf("%q, %v", data, err)
	}
	for _, err := range []error{CheckDir(filepath.Join(page, "x")), MakeDir(filepath.Join(page, "x")), CheckWritable(filepath.Join(page, "x")), CheckWritable(filepath.Join(dir, "new", "x"))} {
		if err == nil || !strings.Contains(err.Error(), dir) {
			t.Errorf("%v", err)
		}
	}
}

// A directory in which no file can be made is found out.
func TestCheckReadOnlyDirectory(t *testing.T) {
	if runtime.GOOS == "windows" || os.Getuid() == 0 {
		t.Skip("everything can be written here; testdata/files.txtar in cmd/lockstep tries /proc")
	}
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o555); err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{CheckWritable(filepath.Join(dir, "x")), CheckDir(filepath.Join(dir, "new")), CheckDir(dir), MakeDir(dir)} {
		if !os.IsPermission(err) {
			t.Errorf("%v", err)
		}
	}
}

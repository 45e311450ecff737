// Package overlay changes files of the standard library while the go command compiles a program (go build -overlay). Nothing is installed,
// and GOROOT stays as it is.
package overlay

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// A Change replaces a text that occurs N times in a file of the standard library.
type Change struct {
	File     string // below GOROOT/src
	Old, New string
	N        int
}

// Write writes the changed files, the added files and an overlay file for the go command into a directory in dir, whose name begins with name.
// It returns the path of the overlay file. It runs the go command in src, so that it changes the release of Go with which that source is
// compiled. It checks how often each text occurs, and so refuses a release of Go whose standard library is different.
func Write(ctx context.Context, src, dir, name string, changes []Change, added map[string][]byte) (file string, err error) {
	out, said, err := Go(ctx, src, nil, "env", "GOROOT")
	if err != nil {
		return "", fmt.Errorf("go env GOROOT: %w: %s", err, said)
	}
	root := filepath.Join(strings.TrimSpace(string(out)), "src")
	files := map[string][]byte{}
	for file, text := range added {
		files[filepath.Join(root, filepath.FromSlash(file))] = text
	}
	for _, c := range changes {
		path := filepath.Join(root, filepath.FromSlash(c.File))
		if files[path] == nil {
			if files[path], err = os.ReadFile(path); err != nil {
				return "", err
			}
		}
		if n := bytes.Count(files[path], []byte(c.Old)); n != c.N {
			return "", fmt.Errorf("%s contains %q %d times, not %d: this version of Lockstep does not support this release of Go", path, c.Old, n, c.N)
		}
		files[path] = bytes.ReplaceAll(files[path], []byte(c.Old), []byte(c.New))
	}
	sum := sha256.Sum256(fmt.Append(nil, root, changes, added)) // each GOROOT and each set of changes has its own directory
	dir = filepath.Join(dir, fmt.Sprintf("%s-%x", name, sum[:6]))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	replace := map[string]string{}
	for path, text := range files {
		rel, _ := filepath.Rel(root, path)
		replace[path] = filepath.Join(dir, strings.ReplaceAll(filepath.ToSlash(rel), "/", "_"))
		if err := write(replace[path], text); err != nil {
			return "", err
		}
	}
	text, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	file = filepath.Join(dir, "overlay.json")
	return file, write(file, text)
}

// write replaces a file atomically, because another process may be reading it.
func write(path string, text []byte) error {
	if old, err := os.ReadFile(path); err == nil && bytes.Equal(old, text) {
		return nil
	}
	f, err := os.CreateTemp(filepath.Dir(path), "new-*")
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	return err
}

// Package sites writes a site into a directory, and replaces there nothing that is not from a site.
package sites

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"lockstep/scenarios/files"
)

// A File is one file of a site. Its name is a slash-separated path inside the directory of the site.
type File struct {
	Name string
	Data []byte
}

// Sums is the file of a site that lists the others with their checksums, as sha256sum does. Its first line is a mark: it says which command
// has written the directory.
const Sums = "SHA256SUMS"

// Sealed returns files with their checksums: the checksums first, below a mark, then the files sorted by name.
func Sealed(mark string, files []File) []File {
	slices.SortFunc(files, func(a, b File) int { return strings.Compare(a.Name, b.Name) })
	var sums strings.Builder
	sums.WriteString(mark)
	for _, f := range files {
		sum := sha256.Sum256(f.Data)
		fmt.Fprintf(&sums, "%s  %s\n", hex.EncodeToString(sum[:]), f.Name)
	}
	return append([]File{{Sums, []byte(sums.String())}}, files...)
}

// A Dir is a directory that a site may be written into. All access is through its root, so that nothing outside is touched,
// whatever the list of files says and wherever links lead.
type Dir struct {
	name string
	by   string // the command that writes it, such as lockstep debate
	mark string // the first line of its list of files
	root *os.Root
	made bool     // the directory is new
	old  []string // the files of the site that is already there
}

// Open opens a directory for a site, and makes it if there is none. It must be empty, or contain nothing except a site.
func Open(name, by, mark string) (*Dir, error) {
	info, err := os.Stat(name)
	if err == nil && !info.IsDir() {
		return nil, fmt.Errorf("--out %s: that is a file; a site takes a directory", name)
	}
	made := errors.Is(err, fs.ErrNotExist)
	if err := files.MakeDir(name); err != nil {
		return nil, fmt.Errorf("--out: %w", err)
	}
	root, err := os.OpenRoot(name)
	if err != nil {
		return nil, fmt.Errorf("--out: %w", err)
	}
	d := &Dir{name: name, by: by, mark: mark, root: root, made: made}
	if err := d.look(); err != nil {
		root.Close()
		return nil, fmt.Errorf("--out %s: %w", name, err)
	}
	return d, nil
}

// Close closes the directory, and removes it if it was made for a site that was not written.
func (d *Dir) Close() error {
	err := d.root.Close()
	if d.made {
		os.Remove(d.name) // fails unless it is empty
	}
	return err
}

// Index is the first page of the site.
func (d *Dir) Index() string { return filepath.Join(d.name, "index.html") }

// look lists the files in the directory, and refuses any that does not belong to a site.
func (d *Dir) look() error {
	var there []string
	err := fs.WalkDir(d.root.FS(), ".", func(name string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			if !e.Type().IsRegular() {
				return fmt.Errorf("%s is not a plain file, and not from %s; name another directory", name, d.by)
			}
			there = append(there, name)
		}
		return err
	})
	if err != nil || len(there) == 0 {
		return err
	}
	listed, err := d.listed()
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("it contains a file (%s) that is not from %s; name an empty directory, or a new one", there[0], d.by)
	}
	if err != nil {
		return err
	}
	for _, name := range there {
		if name != Sums && !slices.Contains(listed, name) {
			return fmt.Errorf("%s is not from %s; move it, or name another directory", name, d.by)
		}
	}
	d.old = there
	return nil
}

// largestSums is the largest size, in bytes, of a list of files.
const largestSums = 16 << 20

// listed returns the files that belong to the site that is already there.
func (d *Dir) listed() ([]string, error) {
	mark, names, err := list(d.root)
	if mark != d.mark && (err == nil || mark != "") {
		return nil, fmt.Errorf("its %s is not from %s; name another directory", Sums, d.by)
	}
	return names, err
}

// Listed returns the files of the site in a directory, whichever command has written it.
func Listed(root *os.Root) ([]string, error) {
	mark, names, err := list(root)
	if err == nil && !strings.HasPrefix(mark, "# Written by lockstep ") {
		return nil, fs.ErrNotExist
	}
	return names, err
}

// list reads the list of files: its mark, and their names.
func list(root *os.Root) (mark string, names []string, err error) {
	f, err := root.Open(Sums)
	if err != nil {
		return "", nil, err
	}
	defer f.Close()
	lines := bufio.NewScanner(files.Limit(f, Sums, largestSums))
	if lines.Scan() {
		mark = lines.Text() + "\n"
	}
	for lines.Scan() {
		_, name, _ := strings.Cut(lines.Text(), "  ")
		names = append(names, name)
	}
	return mark, names, lines.Err()
}

// Write replaces the site that is already there. The list of files is written first, so that the files of an interrupted write are
// recognized the next time.
func (d *Dir) Write(ctx context.Context, all []File) error {
	for _, name := range d.old {
		if slices.ContainsFunc(all, func(f File) bool { return f.Name == name }) {
			continue
		}
		if err := d.root.Remove(name); err != nil {
			return err
		}
		d.root.Remove(path.Dir(name)) // fails unless it is empty now
	}
	for _, f := range all {
		if err := ctx.Err(); err != nil {
			return err
		}
		if dir := path.Dir(f.Name); dir != "." {
			if err := d.root.MkdirAll(dir, 0o755); err != nil {
				return err
			}
		}
		if err := d.root.WriteFile(f.Name, f.Data, 0o644); err != nil {
			return fmt.Errorf("the site in %s is not complete: %w", d.name, err)
		}
	}
	return nil
}

// Package files reads and writes the files that users name. Such a name may be a link, a pipe that nobody writes to, or a device without
// an end. All files that users name are read and written here.
package files

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// Read returns the contents of a text file, which may have at most the given number of bytes, and must be UTF-8 without a byte order
// mark. It gives up when ctx ends, even where it
// waits for somebody to open the other end of a pipe.
func Read(ctx context.Context, name string, most int64) ([]byte, error) {
	var data []byte
	var err error
	done := make(chan struct{})
	go func() { // a read that blocks cannot be interrupted, but nobody has to wait for it
		defer close(done)
		var f *os.File
		if f, err = os.Open(name); errors.Is(err, fs.ErrNotExist) {
			err = absent(name)
		} else if err == nil {
			defer f.Close()
			switch info, e := f.Stat(); {
			case e == nil && info.IsDir():
				err = fmt.Errorf("%s: that is a directory; name a file in it", name)
				return
			case e == nil && info.Size() > most:
				err = tooLarge(name, most)
				return
			}
			if data, err = io.ReadAll(Limit(f, name, most)); err == nil {
				err = checkMark(name, data)
			}
		}
	}()
	select {
	case <-done:
		return data, err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// An absent file is an [fs.ErrNotExist], and says which file it is.
type absent string

func (a absent) Error() string { return string(a) + ": there is no such file" }
func (absent) Unwrap() error   { return fs.ErrNotExist }

// checkMark returns an error if a text begins with a byte order mark, as editors on Windows write it. Left in, it would be part of
// the first word.
func checkMark(name string, data []byte) error {
	switch {
	case bytes.HasPrefix(data, []byte("\xef\xbb\xbf")):
		return fmt.Errorf("%s:1: the file begins with a byte order mark (BOM); it must be UTF-8 without one", name)
	case bytes.HasPrefix(data, []byte("\xff\xfe")), bytes.HasPrefix(data, []byte("\xfe\xff")):
		return fmt.Errorf("%s:1: the file is UTF-16; it must be UTF-8", name)
	}
	return nil
}

// Limit returns a reader that fails after the given number of bytes. The name is for the error.
func Limit(r io.Reader, name string, most int64) io.Reader {
	return &limited{r: r, name: name, most: most, left: most}
}

type limited struct {
	r          io.Reader
	name       string
	most, left int64
}

func (l *limited) Read(p []byte) (int, error) {
	if int64(len(p)) > l.left+1 {
		p = p[:l.left+1]
	}
	n, err := l.r.Read(p)
	if int64(n) > l.left {
		return int(l.left), tooLarge(l.name, l.most)
	}
	l.left -= int64(n)
	return n, err
}

func tooLarge(name string, most int64) error {
	return fmt.Errorf("%s: the file is larger than %d MB", name, most>>20)
}

// Write gives a file its contents, or new ones. Links are followed. A regular file is replaced as a whole: whoever reads it
// meanwhile gets the old contents or the new ones, and if it cannot be written, it stays as it was. To a pipe, a terminal or a
// device the contents are written; when ctx ends meanwhile, that is given up.
func Write(ctx context.Context, name string, data []byte) error {
	err := write(ctx, name, data)
	if e, ok := errors.AsType[*fs.PathError](err); ok { // which may be about the temporary file
		return &fs.PathError{Op: "write", Path: name, Err: e.Err}
	}
	if e, ok := errors.AsType[*os.LinkError](err); ok {
		return &fs.PathError{Op: "write", Path: name, Err: e.Err}
	}
	return err
}

func write(ctx context.Context, name string, data []byte) error {
	info, err := os.Stat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return replace(name, data, nil)
	}
	if err != nil {
		return err
	}
	if open := printedTo(info); open != nil {
		return through(ctx, open, data)
	}
	switch mode := info.Mode(); {
	case mode.IsRegular():
		return replace(name, data, info)
	case mode.IsDir():
		return &fs.PathError{Path: name, Err: errors.New("is a directory")}
	case mode&fs.ModeDevice != 0 && mode&fs.ModeCharDevice == 0:
		return &fs.PathError{Path: name, Err: errors.New("is a block device, and is not overwritten")}
	}
	return interruptible(ctx, func() error {
		f, err := os.OpenFile(name, os.O_WRONLY, 0) // waits until somebody reads, if it is a pipe
		if err != nil {
			return err
		}
		_, err = f.Write(data)
		return errors.Join(err, f.Close())
	})
}

// Append adds a text to a regular file, which it makes if there is none; text is told how large the file is. No name is no file.
func Append(name string, text func(size int64) string) (err error) {
	if name == "" {
		return nil
	}
	if info, err := os.Stat(name); err == nil && !info.Mode().IsRegular() { // opening a pipe would wait for a reader
		return fmt.Errorf("%s is not a regular file", name)
	}
	out, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	info, err := out.Stat()
	if err != nil {
		return err
	}
	_, err = io.WriteString(out, text(info.Size()))
	return err
}

// printedTo returns standard output, or standard error, if that is the file, and nil otherwise. Replacing it would cut off what else is
// printed there.
func printedTo(info fs.FileInfo) *os.File {
	for _, open := range []*os.File{os.Stdout, os.Stderr} {
		if there, err := open.Stat(); err == nil && os.SameFile(info, there) {
			return open
		}
	}
	return nil
}

// through writes to a file that is open.
func through(ctx context.Context, f *os.File, data []byte) error {
	return interruptible(ctx, func() error {
		_, err := f.Write(data)
		return err
	})
}

// writeGrace is how long a write may still take after ctx has ended: what an interrupted program writes at its end should reach
// a reader that is already there.
const writeGrace = time.Second

// interruptible does something that may block, and waits for it until ctx ends, but not much longer.
func interruptible(ctx context.Context, do func() error) error {
	done := make(chan error, 1)
	go func() { done <- do() }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	select {
	case err := <-done:
		return err
	case <-time.After(writeGrace):
		return ctx.Err()
	}
}

// replace writes a regular file; old is what is there, and nil if nothing is.
func replace(name string, data []byte, old fs.FileInfo) error {
	name, err := follow(name)
	if err != nil {
		return err
	}
	mode := fs.FileMode(0o644)
	if old != nil {
		mode = old.Mode().Perm()
	}
	dir, _ := filepath.Split(name) // not filepath.Dir: x/.. is not the current directory where x is a link
	tmp, err := os.OpenFile(dir+".lockstep-"+rand.Text(), os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name()) // fails once it has its name
	_, err = tmp.Write(data)
	if old != nil { // the umask is for new files
		err = errors.Join(err, tmp.Chmod(mode))
	}
	if err = errors.Join(err, tmp.Close()); err != nil {
		return err
	}
	return os.Rename(tmp.Name(), name)
}

// MakeDir makes a directory, with its parents, and returns an error if no file can be made in it: what is written there is known only
// after work that would be lost.
func MakeDir(name string) error {
	if _, err := above(name); err != nil {
		return err
	}
	if err := os.MkdirAll(name, 0o755); err != nil {
		return err
	}
	if err := try(name + string(filepath.Separator)); err != nil {
		return &fs.PathError{Op: "write into", Path: name, Err: err}
	}
	return nil
}

// CheckDir returns an error if [MakeDir] would, and makes no directory.
func CheckDir(name string) error {
	dir, err := above(name)
	if err != nil {
		return err
	}
	if err := try(dir + string(filepath.Separator)); err != nil {
		return &fs.PathError{Op: "write into", Path: dir, Err: err}
	}
	return nil
}

// above returns the directory in which a directory of the given name can be made: itself, or its nearest parent that exists.
func above(name string) (string, error) {
	for dir := name; ; dir = filepath.Dir(dir) {
		info, err := os.Stat(dir)
		to, notLink := os.Readlink(dir)
		switch {
		case err == nil && info.IsDir():
			return dir, nil
		case err == nil:
			return "", fmt.Errorf("%s: that is a file; name a directory", dir)
		case errors.Is(err, fs.ErrNotExist) && notLink == nil:
			return "", fmt.Errorf("%s: that is a link to %s, which does not exist; name a directory", dir, to)
		case !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR) || dir == filepath.Dir(dir):
			return "", &fs.PathError{Op: "mkdir", Path: name, Err: bare(err)}
		}
	}
}

// CheckWritable returns an error if [Write] cannot write a file, as far as that is known before. It leaves the file as it is, and does not wait
// for anybody.
func CheckWritable(name string) error {
	err := checkWritable(name)
	if err != nil {
		return &fs.PathError{Op: "write", Path: name, Err: err}
	}
	return nil
}

func checkWritable(name string) error {
	info, err := os.Stat(name)
	switch {
	case err == nil && printedTo(info) != nil:
		return nil
	case errors.Is(err, fs.ErrNotExist), err == nil && info.Mode().IsRegular(): // which is replaced
		if name, err = follow(name); err != nil {
			return bare(err)
		}
		dir, _ := filepath.Split(name)
		return try(dir)
	case err != nil:
		return bare(err)
	case info.Mode()&fs.ModeCharDevice != 0:
		f, err := os.OpenFile(name, os.O_WRONLY, 0)
		if err != nil {
			return bare(err)
		}
		_, err = f.Write(nil) // a full device refuses that as well
		return bare(errors.Join(err, f.Close()))
	}
	return nil
}

// try makes a file in a directory, whose name ends with a separator or is empty, and removes it again.
func try(dir string) error {
	f, err := os.OpenFile(dir+".lockstep-"+rand.Text(), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return bare(err)
	}
	return bare(errors.Join(f.Close(), os.Remove(f.Name())))
}

// bare is an error without the name of the file, which may be that of a temporary one.
func bare(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err
	}
	return err
}

// mostLinks is how many links may lead to a file, one to the next; Linux follows as many.
const mostLinks = 40

// follow finds the name of the file that a name leads to, which need not exist.
func follow(name string) (string, error) {
	for range mostLinks {
		info, err := os.Lstat(name)
		if errors.Is(err, fs.ErrNotExist) || err == nil && info.Mode()&fs.ModeSymlink == 0 {
			return name, nil
		}
		if err != nil {
			return "", err
		}
		to, err := os.Readlink(name)
		if err != nil {
			return "", err
		}
		if !filepath.IsAbs(to) {
			dir, _ := filepath.Split(name)
			to = dir + to
		}
		name = to
	}
	return "", &fs.PathError{Path: name, Err: errors.New("too many links")}
}

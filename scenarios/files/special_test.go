//go:build linux

package files

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A device that never ends is read up to the limit.
func TestReadEndlessDevice(t *testing.T) {
	if _, err := Read(t.Context(), "/dev/zero", 1<<20); err == nil || !strings.Contains(err.Error(), "the file is larger than 1 MB") {
		t.Errorf("read with %v", err)
	}
}

func pipe(t *testing.T) string {
	name := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(name, 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// What waits for the other end of a pipe ends with its context, and what has another end works.
func TestPipe(t *testing.T) {
	name := pipe(t)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := Read(ctx, name, 1<<20); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("read with %v", err)
	}
	name = pipe(t)
	ctx, cancel = context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := Write(ctx, name, []byte("x")); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("written with %v", err)
	}

	name = pipe(t)
	written := make(chan error)
	go func() { written <- Write(t.Context(), name, []byte("through")) }()
	if data, err := Read(t.Context(), name, 1<<20); err != nil || string(data) != "through" {
		t.Errorf("read %q, %v", data, err)
	}
	if err := <-written; err != nil {
		t.Error(err)
	}
	if info, err := os.Lstat(name); err != nil || info.Mode()&fs.ModeNamedPipe == 0 {
		t.Errorf("the pipe is now %v, %v", info.Mode(), err)
	}
}

// device makes a character or block device of its own, which needs the rights for it.
func device(t *testing.T, mode, major, minor int) string {
	name := filepath.Join(t.TempDir(), "device")
	if err := syscall.Mknod(name, uint32(mode|0o600), major<<8|minor); err != nil {
		lacking(t, err)
	}
	if f, err := os.OpenFile(name, os.O_WRONLY, 0); mode == syscall.S_IFCHR && err != nil {
		lacking(t, err) // a file system where devices are none
	} else if err == nil {
		f.Close()
	}
	return name
}

// A device is written to, and stays one; a block device, which may be a disk, is left alone.
func TestDevices(t *testing.T) {
	null, full, disk := device(t, syscall.S_IFCHR, 1, 3), device(t, syscall.S_IFCHR, 1, 7), device(t, syscall.S_IFBLK, 7, 200)
	if err := Write(t.Context(), null, []byte("x")); err != nil {
		t.Error(err)
	}
	if err := Write(t.Context(), full, []byte("x")); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("the full device was written with %v", err)
	}
	if err := Write(t.Context(), disk, []byte("x")); err == nil || !strings.Contains(err.Error(), "block device") {
		t.Errorf("the disk was written with %v", err)
	}
	for _, name := range []string{null, full, disk} {
		if info, err := os.Lstat(name); err != nil || info.Mode()&fs.ModeDevice == 0 {
			t.Errorf("%s is now %v, %v", name, info.Mode(), err)
		}
		alone(t, filepath.Dir(name), "device")
	}
}

// Where the file is standard output, what was printed there stays.
func TestWriteToStandardOutput(t *testing.T) {
	name := filepath.Join(t.TempDir(), "out")
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	defer func(old *os.File) { os.Stdout = old }(os.Stdout)
	os.Stdout = f
	f.WriteString("before\n")
	if err := Write(t.Context(), name, []byte("the file\n")); err != nil {
		t.Fatal(err)
	}
	f.WriteString("after\n")
	if data, _ := os.ReadFile(name); string(data) != "before\nthe file\nafter\n" {
		t.Errorf("%q", data)
	}
}

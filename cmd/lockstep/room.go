package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"lockstep/scenarios/files"
)

// makeOut makes the directory that --out names, if it is given, before anything is run.
func makeOut(dir string) error {
	if dir == "" {
		return nil
	}
	if err := files.MakeDir(dir); err != nil {
		return fmt.Errorf("--out: %w", err)
	}
	return nil
}

// target is an option that names a file to write. The name is empty if the option is not given.
type target struct{ flag, file string }

// checkRoom refuses directories as files to write, before anything is run, and files that another option writes, files that are read, and
// files that cannot be written; out is the directory that --out names, if any. writeFile makes their directories, so that a command which is
// refused leaves none.
func checkRoom(read []string, out string, all ...target) error {
	for i, w := range all {
		if w.file == "" {
			continue
		}
		info, err := os.Stat(w.file)
		if err == nil && info.IsDir() {
			return fmt.Errorf("--%s %s: that is a directory; name a file in it", w.flag, w.file)
		}
		if within(out, w.file) {
			return fmt.Errorf("--%s %s: --out %s needs a directory of that name; name another file", w.flag, w.file, out)
		}
		for _, other := range all[:i] {
			if within(other.file, w.file) && within(w.file, other.file) || sameFile(other.file, info) {
				return fmt.Errorf("--%s %s: --%s writes that file; name another", w.flag, w.file, other.flag)
			}
			if within(other.file, w.file) || within(w.file, other.file) {
				return fmt.Errorf("--%s %s: --%s %s needs a directory where the other is a file; name another", w.flag, w.file, other.flag, other.file)
			}
		}
		for _, name := range read {
			if file, _, _ := cutFile(name); file != "" && sameFile(file, info) {
				return fmt.Errorf("--%s %s: that file is read; name another", w.flag, w.file)
			}
		}
		dir := filepath.Dir(w.file)
		if d, none := os.Stat(dir); none != nil || !d.IsDir() {
			err = files.CheckDir(dir)
		} else {
			err = files.CheckWritable(w.file)
		}
		if err != nil {
			return fmt.Errorf("--%s: %w", w.flag, err)
		}
	}
	return nil
}

// within reports whether a name is that of dir, or of something in it. No name is in none.
func within(name, dir string) bool {
	if name == "" || dir == "" {
		return false
	}
	name, err := filepath.Abs(name)
	dir, err2 := filepath.Abs(dir)
	return err == nil && err2 == nil && (name == dir || strings.HasPrefix(name, dir+string(filepath.Separator)))
}

// sameFile reports whether a name leads to the regular file that info describes; info is nil if there is none.
func sameFile(name string, info os.FileInfo) bool {
	if info == nil || !info.Mode().IsRegular() {
		return false
	}
	other, err := os.Stat(name)
	return err == nil && os.SameFile(other, info)
}

package main

import (
	"fmt"
	"os"
	"path/filepath"

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
// files that cannot be written. writeFile makes their directories, so that a command which is refused leaves none.
func checkRoom(read []string, all ...target) error {
	for i, w := range all {
		if w.file == "" {
			continue
		}
		info, err := os.Stat(w.file)
		if err == nil && info.IsDir() {
			return fmt.Errorf("--%s %s: that is a directory; name a file in it", w.flag, w.file)
		}
		for _, other := range all[:i] {
			if filepath.Clean(other.file) == filepath.Clean(w.file) || sameFile(other.file, info) {
				return fmt.Errorf("--%s %s: --%s writes that file; name another", w.flag, w.file, other.flag)
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

// sameFile reports whether a name leads to the regular file that info describes; info is nil if there is none.
func sameFile(name string, info os.FileInfo) bool {
	if info == nil || !info.Mode().IsRegular() {
		return false
	}
	other, err := os.Stat(name)
	return err == nil && os.SameFile(other, info)
}

//go:build !wasm

package wasm

import (
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// cacheDir returns the directory of the cache. It has a file for each package that was compiled, which the go command keeps up to date,
// and a directory for each program, with a copy of it and its machine code. Everything in it may be deleted at any time.
func cacheDir() (string, error) {
	dir, err := os.UserCacheDir()
	if err != nil {
		dir = os.TempDir()
	}
	dir = filepath.Join(dir, "lockstep")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("the cache for it cannot be written: %w", err)
	}
	return dir, nil
}

const (
	keptFor  = 7 * 24 * time.Hour // how long an entry of the cache is kept after it was last used
	keptSize = 2 << 30            // how many bytes are kept; a program takes some 100 MB
	inUse    = 15 * time.Minute   // an entry that was used more recently may be in use, and stays
)

// prune deletes the entries of the cache that have not been used for longer than keptFor, and then those used the longest ago, until the
// rest has no more bytes than size.
func prune(dir string, size int64) {
	type entry struct {
		path string
		used time.Time
		size int64
	}
	found, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	var entries []entry
	var total int64
	for _, d := range found {
		info, err := d.Info()
		if err != nil {
			continue // another process has deleted it
		}
		e := entry{path: filepath.Join(dir, d.Name()), used: info.ModTime()}
		filepath.WalkDir(e.path, func(_ string, d fs.DirEntry, err error) error {
			if err == nil && d.Type().IsRegular() {
				if info, err := d.Info(); err == nil {
					e.size += info.Size()
				}
			}
			return nil
		})
		entries = append(entries, e)
		total += e.size
	}
	slices.SortFunc(entries, func(a, b entry) int { return cmp.Or(a.used.Compare(b.used), cmp.Compare(a.path, b.path)) })
	for _, e := range entries {
		if age := time.Since(e.used); age > keptFor || total > size && age > inUse {
			os.RemoveAll(e.path) // if this fails, it stays
			total -= e.size
		}
	}
}

// cacheOf returns the directory for the machine code of a program, and marks it as used now.
func cacheOf(code []byte, in string) (string, error) {
	sum := sha256.Sum256(code)
	dir := filepath.Join(in, fmt.Sprintf("%x", sum[:16]))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	touch(dir)
	return dir, nil
}

// CompileInCache is [Compile] with a directory in the cache of this user.
func CompileInCache(ctx context.Context, program []byte) (*Module, error) {
	dir, err := cacheDir()
	if err != nil {
		return nil, err
	}
	prune(dir, keptSize)
	if dir, err = cacheOf(program, dir); err != nil {
		return nil, err
	}
	return Compile(ctx, program, dir)
}

// touch marks an entry of the cache as used now.
func touch(path string) {
	now := time.Now()
	os.Chtimes(path, now, now) // if this fails, the entry is deleted earlier
}

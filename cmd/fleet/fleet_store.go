package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"lockstep/cmd/fleet/queue"
)

// A store is a directory with the shards that are done. It has a subdirectory for each, which appears when it is complete, and a file
// that names the search. It is for one goroutine that changes it; others may ask what it has while it does not change.
type store struct {
	queue.Search
	path string
	temp bool
	have map[int]bool
}

const searchFile = "search.json"

// openStore opens a directory, and looks which shards it has. Without a path it is a temporary directory.
func openStore(path string, s queue.Search) (*store, error) {
	st := &store{Search: s, path: path, have: map[int]bool{}}
	if path == "" {
		var err error
		st.temp = true
		if st.path, err = os.MkdirTemp("", "lockstep-search-"); err != nil {
			return nil, fmt.Errorf("cannot make a temporary directory for the shards: %w; set TMPDIR to a writable directory, or use --out DIR", err)
		}
		return st, nil
	}
	if err := os.MkdirAll(path, 0o777); err != nil {
		return nil, fmt.Errorf("--out: %w", err)
	}
	file := filepath.Join(path, searchFile)
	var there queue.Search
	switch text, err := os.ReadFile(file); {
	case err == nil:
		if json.Unmarshal(text, &there) != nil || there.ID() != s.ID() {
			return nil, fmt.Errorf("--out: %s has the shards of another search, or of another build (see %s); choose another --out, or delete it", path, searchFile)
		}
	case !errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("--out: %w", err)
	default:
		if others, err := os.ReadDir(path); err != nil || len(others) > 0 {
			return nil, fmt.Errorf("--out: %s is not empty, and has no %s; choose a new directory", path, searchFile)
		}
		text, _ := json.Marshal(s)
		if err := os.WriteFile(file, append(text, '\n'), 0o666); err != nil {
			return nil, fmt.Errorf("--out: %w", err)
		}
	}
	for n := 1; n <= s.Of; n++ {
		switch err := queue.Check(st.dir(n), s, n); {
		case err == nil:
			st.have[n] = true
		case !errors.Is(err, fs.ErrNotExist):
			if err := os.RemoveAll(st.dir(n)); err != nil { // it is damaged, and is fetched again
				return nil, fmt.Errorf("--out: %w", err)
			}
		}
	}
	return st, nil
}

func (st *store) dir(shard int) string {
	return filepath.Join(st.path, fmt.Sprintf("shard-%0*d", len(fmt.Sprint(st.Of)), shard))
}

func (st *store) has(shard int) bool { return st.have[shard] }

func (st *store) count() int { return len(st.have) }

func (st *store) dirs() []string {
	var all []string
	for n := 1; n <= st.Of; n++ {
		if st.have[n] {
			all = append(all, st.dir(n))
		}
	}
	return all
}

// put stores what came out of a shard, if it is undamaged.
func (st *store) put(shard int, packed []byte) (damaged, err error) {
	temp, err := os.MkdirTemp(st.path, "new-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(temp)
	if err := queue.Unpack(packed, temp); err != nil {
		if e, ok := errors.AsType[*fs.PathError](err); ok { // the disk is full
			return nil, e
		}
		return err, nil
	}
	if err := queue.Check(temp, st.Search, shard); err != nil {
		return err, nil
	}
	return nil, st.move(shard, temp)
}

// take stores the files of a shard that are in a directory.
func (st *store) take(shard int, dir string) error {
	packed, err := queue.Pack(dir)
	if err != nil {
		return err
	}
	damaged, err := st.put(shard, packed)
	return errors.Join(damaged, err)
}

func (st *store) move(shard int, temp string) error {
	os.Chmod(temp, 0o755)
	// Another submitter may use the same directory; what it has put there is as good.
	if err := os.Rename(temp, st.dir(shard)); err != nil && queue.Check(st.dir(shard), st.Search, shard) != nil {
		return err
	}
	st.have[shard] = true
	return nil
}

// close removes a temporary directory.
func (st *store) close() {
	if st.temp {
		os.RemoveAll(st.path)
	}
}

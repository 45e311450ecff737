package shards

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"

	"lockstep/sim/workers"
)

// Merged has the answers of all shards of a command. It is the [workers.Memo] of the processes that carry out the command once more. What
// no shard had to play, such as the reduction of what was found, they play then.
type Merged struct {
	Manifest // of all shards
	files    []*os.File
	known    map[key]place
}

// Merge opens the directories of all shards of a command, in any order. A shard may be there more than once. The caller closes the
// result.
//
// It is an error if the shards are not those of one command and of this program, if one is missing, incomplete or damaged, or if two
// shards have different answers for the same job.
func Merge(ctx context.Context, dirs []string) (*Merged, error) {
	m := &Merged{known: map[key]place{}}
	if err := m.open(ctx, dirs); err != nil {
		m.Close()
		return nil, err
	}
	return m, nil
}

func (m *Merged) open(ctx context.Context, dirs []string) error {
	have := map[int]bool{}
	for i, dir := range dirs {
		one, err := Read(ctx, dir)
		switch {
		case err != nil:
			return err
		case i == 0:
			m.Manifest = *one
			m.Part = 0
			if err := m.fits(dir); err != nil {
				return err
			}
		default:
			if err := one.belongs(dir, &m.Manifest, dirs[0]); err != nil {
				return err
			}
		}
		if err := m.add(ctx, dir); errors.Is(err, errDamaged) {
			return one.remedy(dir, err)
		} else if err != nil {
			return err
		}
		have[one.Part] = true
	}
	var lacking []string
	for i := range m.Of {
		if !have[i+1] {
			lacking = append(lacking, strconv.Itoa(i+1))
		}
	}
	switch n := len(lacking); {
	case n == 1:
		return fmt.Errorf("shard %s of %d is missing", lacking[0], m.Of)
	case n > 0:
		return fmt.Errorf("%d of %d shards are missing: %s", n, m.Of, strings.Join(lacking, ", "))
	}
	return nil
}

// fits returns an error if the shards were not played by this program, or the files that the command names have changed.
func (m *Merged) fits(dir string) error {
	here := Manifest{Command: m.Command, Shard: m.Shard}
	var err error
	if here.Build, err = Build(); err != nil {
		return err
	}
	var names []string
	for name := range m.Inputs {
		names = append(names, name)
	}
	if here.Inputs, err = Inputs(names); err != nil {
		return fmt.Errorf("the command of the shards reads this file, which must be here too: %w", err)
	}
	return m.belongs(dir, &here, "")
}

// add reads the answers of a shard.
func (m *Merged) add(ctx context.Context, dir string) error {
	f, err := os.Open(filepath.Join(dir, AnswersFile))
	if err != nil {
		return err
	}
	i := len(m.files)
	m.files = append(m.files, f)
	n := 0
	_, err = scan(f, func(k key, at int64, line []byte) error {
		n++
		if old, known := m.known[k]; known {
			if same, err := m.same(old, line); err != nil || !same {
				return cmp.Or(err, fmt.Errorf("%s:%d: the same job had another answer in %s: two machines played the same run with different results", f.Name(), n, m.files[old.file].Name()))
			}
			return nil
		}
		m.known[k] = place{i, at, len(line)}
		return ctx.Err()
	})
	return err
}

// same reports whether a line has the outcome that is at a place. The same outcome may be written in several ways, and no two reports of a
// run that did not end are equal: they have addresses in them.
func (m *Merged) same(at place, line []byte) (bool, error) {
	before, _, err := recalled(m.files[at.file], at)
	if err != nil {
		return false, err
	}
	now, err := decode(line, mostAnswer)
	return err == nil && (before.Report != nil && now.Report != nil || reflect.DeepEqual(before, now)), err
}

// Recall implements [workers.Memo].
func (m *Merged) Recall(job json.RawMessage) (workers.Outcome, bool, error) {
	k, err := keyOf(job)
	if err != nil {
		return workers.Outcome{}, false, err
	}
	at, known := m.known[k]
	if !known {
		return workers.Outcome{}, false, nil
	}
	return recalled(m.files[at.file], at)
}

// Keep implements [workers.Memo]. What is played while shards are merged is not kept.
func (m *Merged) Keep(json.RawMessage, workers.Outcome) error { return nil }

// Close closes the files of the shards.
func (m *Merged) Close() {
	for _, f := range m.files {
		f.Close()
	}
}

package shards

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"

	"lockstep/scenarios/files"
	"lockstep/sim/workers"
)

// A Shard keeps the answers of one shard in its directory. It is the [workers.Memo] of the processes that play it.
type Shard struct {
	dir      string
	manifest Manifest

	mu    sync.Mutex
	file  *os.File
	known map[key]place
	size  int64
}

// Open opens a directory for the answers of a shard. If the directory has answers of this shard already, from a command that was
// interrupted, they are not played again. The caller closes the shard.
func Open(ctx context.Context, dir string, m Manifest) (*Shard, error) {
	m.Format = format
	m.Complete, m.Answers, m.Sum = false, 0, ""
	if err := files.MakeDir(dir); err != nil {
		return nil, err
	}
	old, err := readManifest(ctx, dir)
	switch {
	case missing(err):
	case err != nil:
		return nil, err
	case old.Build != m.Build:
		return nil, fmt.Errorf("%s has answers of another build, %s, and this program is build %s; choose another --out, or delete that directory",
			dir, short(old.Build), short(m.Build))
	case old.Part != m.Part && old.Of == m.Of:
		return nil, fmt.Errorf("%s has shard %v already; each shard must have a directory of its own", dir, old.Shard)
	default:
		if err := old.belongs(dir, &m, ""); err != nil {
			return nil, fmt.Errorf("%w; each shard must have a directory of its own", err)
		}
	}
	s := &Shard{dir: dir, manifest: m, known: map[key]place{}}
	if s.file, err = os.OpenFile(filepath.Join(dir, AnswersFile), os.O_RDWR|os.O_CREATE, 0o644); err != nil {
		return nil, err
	}
	own, err := lock(s.file)
	switch {
	case err == nil && !own:
		err = fmt.Errorf("%s: another process is playing this shard", dir)
	case err == nil && old != nil && old.Complete: // otherwise the damaged answers would get a checksum of their own
		err = old.verify(dir)
	}
	if err == nil {
		err = s.load(ctx)
	}
	if err != nil {
		s.file.Close()
		return nil, err
	}
	return s, nil
}

// load reads the answers that are there, and removes a last line that was not written whole.
func (s *Shard) load(ctx context.Context) (err error) {
	s.size, err = scan(s.file, func(k key, at int64, line []byte) error {
		s.known[k] = place{0, at, len(line)}
		return ctx.Err()
	})
	if errors.Is(err, errDamaged) {
		return s.manifest.remedy(s.dir, err)
	}
	if err != nil {
		return err
	}
	if err := s.file.Truncate(s.size); err != nil {
		return err
	}
	if _, err := s.file.Seek(s.size, io.SeekStart); err != nil {
		return err
	}
	return s.manifest.write(ctx, s.dir)
}

// Known returns how many answers there are.
func (s *Shard) Known() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.known)
}

// Recall implements [workers.Memo].
func (s *Shard) Recall(job json.RawMessage) (workers.Outcome, bool, error) {
	k, err := keyOf(job)
	if err != nil {
		return workers.Outcome{}, false, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	at, known := s.known[k]
	if !known {
		return workers.Outcome{}, false, nil
	}
	return recalled(s.file, at)
}

// recalled reads an answer.
func recalled(f *os.File, at place) (workers.Outcome, bool, error) {
	line := make([]byte, at.length)
	if _, err := f.ReadAt(line, at.offset); err != nil {
		return workers.Outcome{}, false, err
	}
	o, err := decode(line, mostAnswer)
	if err != nil {
		return o, false, fmt.Errorf("%s is damaged: the answer at byte %d cannot be read: %w; delete the directory %s, and play its shard again",
			f.Name(), at.offset, err, quoted(filepath.Dir(f.Name())))
	}
	return o, true, nil
}

// Keep implements [workers.Memo].
func (s *Shard) Keep(job json.RawMessage, o workers.Outcome) error {
	k, err := keyOf(job)
	if err != nil {
		return err
	}
	line, err := encode(k, o)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, err := s.file.Write(line); err != nil {
		return fmt.Errorf("the answers of the shard cannot be kept: %w", err)
	}
	s.known[k] = place{0, s.size, len(line)}
	s.size += int64(len(line))
	return nil
}

// Complete says that all runs of the shard have been played, and what they found.
func (s *Shard) Complete(ctx context.Context, found []string) error {
	sum, err := sum(s.file.Name())
	if err != nil {
		return err
	}
	s.manifest.Complete, s.manifest.Answers, s.manifest.Sum, s.manifest.Found = true, s.Known(), sum, found
	return s.manifest.write(ctx, s.dir)
}

// Close closes the file of the answers.
func (s *Shard) Close() error { return s.file.Close() }

package queue

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"lockstep/scenarios/shards"
)

const (
	// MostAnswers is the greatest size of the answers of a shard. In the queue they are compressed, and take about a tenth of that. A
	// value in Redis may have 512 MB, and a worker holds what it sends in memory.
	MostAnswers = 256 << 20
	// mostManifest is the greatest size of a manifest. It contains the command, which has at most a few hundred kB.
	mostManifest = 1 << 20
)

// ErrTooLarge says that the answers of a shard are too large for the queue. The remedy is to split the search into more shards.
var ErrTooLarge = errors.New("too large")

// ErrOtherBuild says that a shard was carried out by another build than expected.
var ErrOtherBuild = errors.New("it was carried out by another build")

// Check says what is wrong with the files of a shard in a directory.
func Check(dir string, s Search, shard int) error {
	info, err := os.Stat(filepath.Join(dir, shards.AnswersFile))
	if err == nil && info.Size() > MostAnswers {
		return fmt.Errorf("%w: %s is %d MB; the limit is %d MB (use a larger --shards)", ErrTooLarge, shards.AnswersFile, info.Size()>>20, MostAnswers>>20)
	}
	m, err := shards.Read(context.Background(), dir) // these are files of this program
	switch {
	case err != nil:
		return err
	case m.Build != s.Build:
		return fmt.Errorf("%w: %s instead of %s", ErrOtherBuild, ShortBuild(m.Build), ShortBuild(s.Build))
	case m.Part != shard || m.Of != s.Of:
		return fmt.Errorf("%s is of shard %v, and must be of shard %d/%d", shards.ManifestFile, m.Shard, shard, s.Of)
	}
	return nil
}

// Pack returns the files of a shard as they are kept in the queue: a compressed tar archive.
func Pack(dir string) ([]byte, error) {
	var packed bytes.Buffer
	zip := gzip.NewWriter(&packed)
	archive := tar.NewWriter(zip)
	for _, name := range []string{shards.ManifestFile, shards.AnswersFile} {
		if err := add(archive, dir, name); err != nil {
			return nil, err
		}
	}
	if err := errors.Join(archive.Close(), zip.Close()); err != nil {
		return nil, err
	}
	return packed.Bytes(), nil
}

func add(archive *tar.Writer, dir, name string) error {
	f, err := os.Open(filepath.Join(dir, name))
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if err := archive.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: info.Size()}); err != nil {
		return err
	}
	_, err = io.Copy(archive, f)
	return err
}

// Unpack writes the files of a shard into a directory, which must exist.
func Unpack(packed []byte, dir string) error {
	zip, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return err
	}
	archive := tar.NewReader(zip)
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		limit := int64(MostAnswers)
		switch header.Name {
		case shards.ManifestFile:
			limit = mostManifest
		case shards.AnswersFile:
		default:
			return fmt.Errorf("there must be no file %q", header.Name)
		}
		if header.Size > limit {
			return fmt.Errorf("%s: %w", header.Name, ErrTooLarge)
		}
		if err := extract(archive, filepath.Join(dir, header.Name)); err != nil {
			return err
		}
	}
}

func extract(from io.Reader, file string) error {
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, from)
	return errors.Join(err, f.Close())
}

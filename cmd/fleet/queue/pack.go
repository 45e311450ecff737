package queue

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// The files of a shard.
const (
	ManifestFile = "shard.json"
	AnswersFile  = "answers.jsonl"
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

// manifest is what the queue needs to know of shard.json.
type manifest struct {
	Format   int    `json:"format"`
	Build    string `json:"build"`
	Shard    int    `json:"shard"`
	Of       int    `json:"of"`
	Complete bool   `json:"complete"`
	Answers  int    `json:"answers"`
	SHA256   string `json:"sha256"`
}

// Check says what is wrong with the files of a shard in a directory.
func Check(dir string, s Search, shard int) error {
	file := filepath.Join(dir, ManifestFile)
	info, err := os.Stat(file)
	if err != nil {
		return err
	}
	if info.Size() > mostManifest {
		return fmt.Errorf("%s has %d bytes; the most are %d: %w", ManifestFile, info.Size(), mostManifest, ErrTooLarge)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var m manifest
	if err := json.Unmarshal(text, &m); err != nil {
		return fmt.Errorf("%s cannot be read: %w", ManifestFile, err)
	}
	switch {
	case m.Format != 1:
		return fmt.Errorf("%s has format %d; this program reads format 1", ManifestFile, m.Format)
	case m.Build != s.Build:
		return fmt.Errorf("%w: %s instead of %s", ErrOtherBuild, ShortBuild(m.Build), ShortBuild(s.Build))
	case m.Shard != shard || m.Of != s.Of:
		return fmt.Errorf("%s is of shard %d of %d, not of shard %d of %d", ManifestFile, m.Shard, m.Of, shard, s.Of)
	case !m.Complete:
		return fmt.Errorf("%s says that the shard is not complete", ManifestFile)
	}
	return checkAnswers(filepath.Join(dir, AnswersFile), m)
}

func checkAnswers(file string, m manifest) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if info.Size() > MostAnswers {
		return fmt.Errorf("%s has %d MB; the most are %d MB: use more shards (--shards): %w", AnswersFile, info.Size()>>20, MostAnswers>>20, ErrTooLarge)
	}
	sum := sha256.New()
	lines := new(lineCounter)
	if _, err := io.Copy(io.MultiWriter(sum, lines), f); err != nil {
		return err
	}
	if got := hex.EncodeToString(sum.Sum(nil)); got != trimSum(m.SHA256) {
		return fmt.Errorf("%s is damaged: its checksum is not that in %s", AnswersFile, ManifestFile)
	}
	if int(*lines) != m.Answers {
		return fmt.Errorf("%s has %d lines, but %s counts %d answers", AnswersFile, *lines, ManifestFile, m.Answers)
	}
	return nil
}

// trimSum accepts a checksum with and without the name of its algorithm.
func trimSum(sum string) string {
	if len(sum) > 7 && sum[:7] == "sha256:" {
		return sum[7:]
	}
	return sum
}

type lineCounter int

func (c *lineCounter) Write(b []byte) (int, error) {
	*c += lineCounter(bytes.Count(b, []byte{'\n'}))
	return len(b), nil
}

// Pack returns the files of a shard as they are kept in the queue: a compressed tar archive.
func Pack(dir string) ([]byte, error) {
	var packed bytes.Buffer
	zip := gzip.NewWriter(&packed)
	archive := tar.NewWriter(zip)
	for _, name := range []string{ManifestFile, AnswersFile} {
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
		case ManifestFile:
			limit = mostManifest
		case AnswersFile:
		default:
			return fmt.Errorf("there is a file %q", header.Name)
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

package shards

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"lockstep/scenarios/files"
	"lockstep/scenarios/search"
)

// The files of a shard, in its directory.
const (
	ManifestFile = "shard.json"
	AnswersFile  = "answers.jsonl"
)

// ExitElsewhere is the exit status of a command with --shard that cannot be played on this machine, though perhaps on another.
const ExitElsewhere = 4

// format is the version of both files.
const format = 2

// A Manifest says what the answers in a directory belong to.
type Manifest struct {
	Format  int      `json:"format"`
	Command []string `json:"command"` // as it was typed, without what concerns only the shard
	Build   string   `json:"build"`   // of the program, as [Build] returns it
	// Inputs has a checksum of each file that the command names.
	Inputs map[string]string `json:"inputs,omitempty"`
	search.Shard
	Complete bool   `json:"complete"`          // all runs of the shard were played
	Answers  int    `json:"answers,omitempty"` // how many there are
	Sum      string `json:"sha256,omitempty"`  // of the file with the answers
	// Found has a line for each way to fail that a plan of the shard shows, but no run of the reference. It is only news: the merged search
	// takes its results from the answers.
	Found []string `json:"found,omitempty"`
}

// Build identifies this program: answers of one program mean nothing to another.
var Build = sync.OnceValues(func() (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	return sum(self)
})

// Inputs returns a checksum of each file.
func Inputs(names []string) (map[string]string, error) {
	sums := map[string]string{}
	for _, name := range names {
		text, err := sum(name)
		if err != nil {
			return nil, err
		}
		sums[name] = text
	}
	return sums, nil
}

// sum returns the checksum of a file.
func sum(name string) (string, error) {
	f, err := os.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return "sha256:" + hex.EncodeToString(h.Sum(nil)), nil
}

// mostManifest is the greatest size of a manifest in bytes.
const mostManifest = 1 << 20

// Read reads the manifest of a shard that is complete, and checks that its answers are those of which it has the checksum. Without a manifest the
// error is an [fs.ErrNotExist].
func Read(ctx context.Context, dir string) (*Manifest, error) {
	m, err := readManifest(ctx, dir)
	switch {
	case missing(err):
		return nil, noManifest(dir)
	case err != nil:
		return nil, err
	case !m.Complete:
		return nil, fmt.Errorf("%s: shard %v is incomplete; its command with the same --out continues it: %s", dir, m.Shard, m.again(dir))
	}
	return m, m.verify(dir)
}

// verify returns an error if the answers in the directory of a complete shard are not those of which the manifest has the checksum.
func (m *Manifest) verify(dir string) error {
	answers := filepath.Join(dir, AnswersFile)
	switch got, err := sum(answers); {
	case missing(err):
		return m.remedy(dir, fmt.Errorf("%s: no such file, though shard %v is complete", answers, m.Shard))
	case err != nil:
		return err
	case got != m.Sum:
		return m.remedy(dir, fmt.Errorf("%s is damaged: it must have the checksum %s of its manifest, and has %s", answers, short(m.Sum), short(got)))
	}
	return nil
}

// remedy adds to an error about the answers in a directory what is to be done. Nothing in such a file is used: what is damaged in one place may be
// damaged in another.
func (m *Manifest) remedy(dir string, err error) error {
	return fmt.Errorf("%w; delete the directory %s, and play the shard again: %s", err, quoted(dir), m.again(dir))
}

// noManifest is the error for a directory without a manifest.
type noManifest string

func (dir noManifest) Error() string {
	return fmt.Sprintf("%s: there must be a %s, as --shard writes it", string(dir), ManifestFile)
}

func (noManifest) Unwrap() error { return fs.ErrNotExist }

// again is the command that plays a shard, for a shell.
func (m *Manifest) again(dir string) string {
	options, args := m.Command, []string(nil)
	if i := slices.Index(m.Command, "--"); i >= 0 {
		options, args = m.Command[:i], m.Command[i:]
	}
	words := []string{"lockstep"}
	for _, word := range slices.Concat(options, []string{"--shard", m.Shard.String(), "--out", dir}, args) {
		words = append(words, quoted(word))
	}
	return strings.Join(words, " ")
}

// quoted quotes a word for a shell if necessary.
func quoted(word string) string {
	plain := func(r rune) bool {
		return r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z' || strings.ContainsRune("-_./,:=@%+", r)
	}
	if word != "" && !strings.ContainsFunc(word, func(r rune) bool { return !plain(r) }) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// readManifest reads the manifest of a directory. The error says that there is none by [fs.ErrNotExist].
func readManifest(ctx context.Context, dir string) (*Manifest, error) {
	name := filepath.Join(dir, ManifestFile)
	data, err := files.Read(ctx, name, mostManifest)
	if err != nil {
		return nil, err
	}
	var m Manifest
	switch err := json.Unmarshal(data, &m); {
	case err != nil:
		return nil, fmt.Errorf("%s: this must be the manifest of a shard, as --shard writes it: %w", name, err)
	case m.Format != format:
		return nil, fmt.Errorf("%s: the format must be %d, and is %d; merge the shards with the program that made them", name, format, m.Format)
	case len(m.Command) == 0 || m.Part < 1 || m.Of < m.Part || m.Of > search.MostShards:
		return nil, fmt.Errorf("%s: this must be the manifest of a shard, as --shard writes it: it must name a command and a shard such as 3/64", name)
	}
	return &m, nil
}

func (m *Manifest) write(ctx context.Context, dir string) error {
	data, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return err
	}
	return files.Write(ctx, filepath.Join(dir, ManifestFile), append(data, '\n'))
}

// belongs returns an error if the answers of a manifest are not those of the same work as another's, by the same program. The other one is
// that of the directory other or, if that is empty, of this command.
func (m *Manifest) belongs(dir string, to *Manifest, other string) error {
	name := filepath.Join(dir, ManifestFile)
	by, of, is := other+" by", other+" to", other+" is"
	if other == "" {
		by, of, is = "this program is", "this command is", "this command plays"
	}
	switch {
	case m.Build != to.Build:
		return fmt.Errorf("%s: this shard was played by build %s, but %s build %s; all shards need the same program: build it once, and copy it", name, short(m.Build), by, short(to.Build))
	case !slices.Equal(m.Command, to.Command):
		return fmt.Errorf("%s: this shard belongs to the command lockstep %s, but %s lockstep %s", name, strings.Join(m.Command, " "), of, strings.Join(to.Command, " "))
	case m.Of != to.Of:
		return fmt.Errorf("%s: this is shard %v, but %s one of %d shards", name, m.Shard, is, to.Of)
	}
	for _, input := range slices.Sorted(maps.Keys(to.Inputs)) {
		if m.Inputs[input] != to.Inputs[input] {
			return fmt.Errorf("%s: the file %s has changed since this shard was played", name, input)
		}
	}
	return nil
}

// short is the beginning of a checksum, for messages.
func short(sum string) string { return sum[:min(len(sum), len("sha256:")+12)] }

// missing reports whether an error says that there is no such file.
func missing(err error) bool { return errors.Is(err, fs.ErrNotExist) }

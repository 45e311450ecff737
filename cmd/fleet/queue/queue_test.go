package queue

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"lockstep/scenarios/shards"
)

func TestParseServer(t *testing.T) {
	for _, c := range []struct{ url, password, name, user, pass, err string }{
		{"redis://h", "", "redis://h:6379", "", "", ""},
		{"redis://h:1/2", "", "redis://h:1/2", "", "", ""},
		{"rediss://[::1]:7", "", "rediss://[::1]:7", "", "", ""},
		{"redis://u:p@h", "other", "redis://h:6379", "u", "p", ""},
		{"redis://u@h", "p:/@%+ ?#", "redis://h:6379", "u", "p:/@%+ ?#", ""},
		{"redis://h", "p", "redis://h:6379", "", "p", ""},
		{"redis://:a%40b@h", "", "redis://h:6379", "", "a@b", ""},
		{"redis://:a@b@h", "", "", "", "", "the user or the password cannot be read"},
		{"redis://:a/b@h", "", "", "", "", "the user or the password cannot be read"},
		{"redis://h:99999", "", "", "", "", "the port must be a number"},
		{"redis://h?nonsense=secret", "", "", "", "", "redis://h: after the host"},
		{"h:6379", "", "", "", "", "the queue must be named as"},
	} {
		s, err := ParseServer(c.url, c.password)
		if (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%s: %v, want %q", c.url, err, c.err)
		}
		if err != nil {
			if strings.Contains(err.Error(), "secret") || strings.Contains(err.Error(), "a@b") || strings.Contains(err.Error(), "a/b") {
				t.Errorf("%s: the error repeats what may be secret: %v", c.url, err)
			}
			continue
		}
		if s.String() != c.name || s.options.Username != c.user || s.options.Password != c.pass {
			t.Errorf("%s: %s, user %q, password %q", c.url, s, s.options.Username, s.options.Password)
		}
	}
}

// What may be wrong with the URL is said only until the server has answered.
func TestHintAboutURL(t *testing.T) {
	for url, c := range map[string]struct {
		err  error
		hint string
	}{
		"redis://h":  {io.EOF, "closes the connection; it must be a Redis server; if it requires TLS, use rediss://; or it has no password and is in protected mode: set requirepass"},
		"rediss://h": {context.DeadlineExceeded, "does not answer within 5s; if it does not speak TLS, name it with redis:// instead of rediss://"},
	} {
		s, err := ParseServer(url, "")
		if err != nil {
			t.Fatal(err)
		}
		if got, want := s.Explain(c.err).Error(), s.String()+" "+c.hint; got != want {
			t.Errorf("at first: %s\nwant %s", got, want)
		}
		s.known = true
		said, _, _ := strings.Cut(c.hint, ";")
		if got, want := s.Explain(c.err).Error(), s.String()+" "+said; got != want {
			t.Errorf("later: %s\nwant %s", got, want)
		}
	}
}

func TestSearchID(t *testing.T) {
	one := Search{"b", []string{"explore", "--lock", "x"}, 3}
	for _, other := range []Search{{"c", one.Command, 3}, {"b", []string{"explore", "--lock x"}, 3}, {"b", one.Command, 4}} {
		if one.ID() == other.ID() || one.task(1, 0) == other.task(1, 0) {
			t.Errorf("%v and %v are the same search", one, other)
		}
	}
	if same := (Search{"b", []string{"explore", "--lock=x"}, 3}); one.ID() != same.ID() || one.task(1, 0) != same.task(1, 0) {
		t.Error("--lock=x is another search than --lock x")
	}
	if (Search{"b", []string{"run", "--", "--a=b"}, 3}).ID() == (Search{"b", []string{"run", "--", "--a", "b"}, 3}).ID() {
		t.Error("arguments after -- are taken for options")
	}
	if one.ID() != (Search{"b", []string{"explore", "--lock", "x"}, 3}).ID() || one.task(1, 0) == one.task(2, 0) || one.task(1, 0) == one.task(1, 1) {
		t.Error("ids do not say what is the same")
	}
}

// shard writes a shard with three answers, after a change of its manifest.
func shard(t *testing.T, change func(map[string]any)) (dir string) {
	dir = t.TempDir()
	answers := "{}\n{}\n{}\n"
	sum := sha256.Sum256([]byte(answers))
	m := map[string]any{"format": 2, "command": []string{"explore"}, "build": "b", "shard": 2, "of": 3, "complete": true, "answers": 3, "sha256": "sha256:" + hex.EncodeToString(sum[:])}
	if change != nil {
		change(m)
	}
	text, err := json.Marshal(m)
	if err == nil {
		err = errors.Join(os.WriteFile(filepath.Join(dir, shards.ManifestFile), text, 0o600), os.WriteFile(filepath.Join(dir, shards.AnswersFile), []byte(answers), 0o600))
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestCheck(t *testing.T) {
	s := Search{"b", []string{"explore"}, 3}
	for name, c := range map[string]struct {
		change func(map[string]any)
		want   string
	}{
		"good":       {nil, ""},
		"format":     {func(m map[string]any) { m["format"] = 1 }, "the format must be 2, and is 1"},
		"build":      {func(m map[string]any) { m["build"] = "c" }, "it was carried out by another build: c instead of b"},
		"shard":      {func(m map[string]any) { m["shard"] = 1 }, "shard.json is of shard 1/3, and must be of shard 2/3"},
		"incomplete": {func(m map[string]any) { m["complete"] = false }, "shard 2/3 is incomplete"},
		"damaged":    {func(m map[string]any) { m["sha256"] = "x" }, "answers.jsonl is damaged"},
		"nonsense":   {func(m map[string]any) { m["shard"] = "x" }, "this must be the manifest of a shard"},
	} {
		err := Check(shard(t, c.change), s, 2)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

func TestPack(t *testing.T) {
	from, to := shard(t, nil), t.TempDir()
	packed, err := Pack(from)
	if err == nil {
		err = Unpack(packed, to)
	}
	if err == nil {
		err = Check(to, Search{"b", []string{"explore"}, 3}, 2)
	}
	if err != nil {
		t.Error(err)
	}
	for name, packed := range map[string][]byte{
		"nonsense": []byte("what?"), "short": packed[:len(packed)/2], "nothing": nil,
		"other file": archive(t, "../evil", 1), "too large": archive(t, shards.AnswersFile, MostAnswers+1),
	} {
		dir := t.TempDir()
		if err := Unpack(packed, filepath.Join(dir)); err == nil {
			t.Errorf("%s is unpacked", name)
		}
		if _, err := os.Stat(filepath.Join(dir, "..", "evil")); err == nil {
			t.Errorf("%s: a file outside of the directory", name)
		}
	}
}

// archive has one file, of which only the header is there.
func archive(t *testing.T, name string, size int64) []byte {
	var b bytes.Buffer
	zip := gzip.NewWriter(&b)
	if err := tar.NewWriter(zip).WriteHeader(&tar.Header{Name: name, Size: size}); err != nil {
		t.Fatal(err)
	}
	zip.Close()
	return b.Bytes()
}

// A server that refuses other machines because it has no password says so, or closes the connection.
func TestProtectedMode(t *testing.T) {
	s, err := ParseServer("redis://queue.example:7000", "")
	if err != nil {
		t.Fatal(err)
	}
	for _, said := range []string{"DENIED Redis is running in protected mode because protected mode is enabled", "EOF"} {
		if got := s.Explain(errors.New(said)).Error(); !strings.Contains(got, "has no password and is in protected mode: set requirepass") {
			t.Errorf("%s: %s", said, got)
		}
	}
}

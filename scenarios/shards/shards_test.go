package shards

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"lockstep/scenarios/search"
	"lockstep/sim/workers"
)

// shard keeps the outcomes of jobs as a shard of a command.
func shard(t *testing.T, part, of int, outcomes map[string]string) (dir string) {
	t.Helper()
	build, err := Build()
	if err != nil {
		t.Fatal(err)
	}
	dir = t.TempDir()
	s, err := Open(t.Context(), dir, Manifest{Command: []string{"explore"}, Build: build, Shard: search.Shard{Part: part, Of: of}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for job, outcome := range outcomes {
		if err := s.Keep(json.RawMessage(job), workers.Outcome{Result: outcome}); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Complete(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	return dir
}

// Answers of all shards are found, by what a job plays: the program that its guests run is another file on each machine.
func TestMergeRecalls(t *testing.T) {
	a := shard(t, 1, 2, map[string]string{`{"run":"x"}`: "x", `{"run":"g","program":{"path":"/here"}}`: "g"})
	b := shard(t, 2, 2, map[string]string{`{"run":"y"}`: "y", `{"run":"x"}`: "x"})
	m, err := Merge(t.Context(), []string{b, a, b})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	for job, want := range map[string]any{`{"run":"x"}`: "x", `{"run":"y"}`: "y", `{"run":"g","program":{"path":"/there"}}`: "g", `{"run":"z"}`: nil} {
		o, known, err := m.Recall(json.RawMessage(job))
		if o.Result != want || known != (want != nil) || err != nil {
			t.Errorf("%s: %v, known %v, %v", job, o.Result, known, err)
		}
	}
}

// Two shards with different answers for one job are an error; two reports of a run that did not end are not compared.
func TestMergeCompares(t *testing.T) {
	a := shard(t, 1, 2, map[string]string{`{"run":"x"}`: "x"})
	b := shard(t, 2, 2, map[string]string{`{"run":"x"}`: "y"})
	if _, err := Merge(t.Context(), []string{a, b}); err == nil || !strings.Contains(err.Error(), "two machines played the same run with different results") {
		t.Errorf("got %v", err)
	}
}

// What is wrong in a shard is named, with its file, and nothing is merged.
func TestMergeRefuses(t *testing.T) {
	good := map[string]string{`{"run":"x"}`: "x"}
	for _, tt := range []struct {
		name, file, old, new, want string
	}{
		{"no manifest", ManifestFile, "", "", "there must be a shard.json"},
		{"no JSON", ManifestFile, "{", "[", "this must be the manifest of a shard"},
		{"another format", ManifestFile, `"format": 2`, `"format": 1`, "the format must be 2, and is 1"},
		{"no command", ManifestFile, `"explore"`, ``, "it must name a command"},
		{"no shard", ManifestFile, `"shard": 1`, `"shard": 7`, "a shard such as 3/64"},
		{"incomplete", ManifestFile, `"complete": true`, `"complete": false`, "shard 1/1 is incomplete"},
		{"no answers", AnswersFile, "", "", "no such file"},
		{"a line that is cut off", AnswersFile, "\n", "", "and play the shard again: lockstep explore --shard 1/1 --out "},
		{"a line too many", AnswersFile, "\n", "\n{}\n", "is damaged"},
	} {
		dir := shard(t, 1, 1, good)
		file := filepath.Join(dir, tt.file)
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if tt.old == "" {
			err = os.Remove(file)
		} else {
			err = os.WriteFile(file, []byte(strings.Replace(string(data), tt.old, tt.new, 1)), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
		m, err := Merge(t.Context(), []string{dir})
		if err == nil {
			m.Close()
		}
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %v, want %q", tt.name, err, tt.want)
		}
	}
}

// A damaged answer is noticed, in a shard that is complete and in one that was interrupted, by its command as by merging: it must not get a checksum
// of its own. Both say what is to be done.
func TestDamage(t *testing.T) {
	build, err := Build()
	if err != nil {
		t.Fatal(err)
	}
	for _, complete := range []bool{true, false} {
		dir := shard(t, 1, 1, map[string]string{`{"run":"x"}`: "x"})
		again := "; delete the directory " + dir + ", and play the shard again: lockstep explore --shard 1/1 --out " + dir
		answers, manifest := filepath.Join(dir, AnswersFile), filepath.Join(dir, ManifestFile)
		data, err := os.ReadFile(answers)
		if err != nil {
			t.Fatal(err)
		}
		at := strings.Index(string(data), `"outcome":"`) + len(`"outcome":"`) + 20
		data[at] ^= 1
		if err := os.WriteFile(answers, data, 0o644); err != nil {
			t.Fatal(err)
		}
		if !complete {
			text, err := os.ReadFile(manifest)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(manifest, []byte(strings.Replace(string(text), `"complete": true`, `"complete": false`, 1)), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		for range 2 {
			s, err := Open(t.Context(), dir, Manifest{Command: []string{"explore"}, Build: build, Shard: search.Shard{Part: 1, Of: 1}})
			if err == nil {
				s.Close()
			}
			if err == nil || !strings.Contains(err.Error(), "damaged") || !strings.HasSuffix(err.Error(), again) {
				t.Errorf("complete %v: got %v", complete, err)
			}
		}
		if _, err := Merge(t.Context(), []string{dir}); complete && (err == nil || !strings.HasSuffix(err.Error(), again)) {
			t.Errorf("merge: got %v", err)
		}
	}
}

// The command that continues a shard can be pasted into a shell: its options come before the arguments, and are quoted.
func TestAgain(t *testing.T) {
	m := Manifest{Command: []string{"run", "--property=lease exclusion", "--", "pause", "it's/a"}, Shard: search.Shard{Part: 1, Of: 2}}
	const want = `lockstep run '--property=lease exclusion' --shard 1/2 --out 'y 1' -- pause 'it'\''s/a'`
	if got := m.again("y 1"); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// Answers of another build are not continued.
func TestOpenOtherBuild(t *testing.T) {
	dir := shard(t, 1, 1, nil)
	_, err := Open(t.Context(), dir, Manifest{Command: []string{"explore"}, Build: "sha256:other", Shard: search.Shard{Part: 1, Of: 1}})
	if err == nil || !strings.HasSuffix(err.Error(), "and this program is build sha256:other; choose another --out, or delete that directory") {
		t.Errorf("got %v", err)
	}
}

// Two processes cannot write to one directory.
func TestOpenOnce(t *testing.T) {
	dir := t.TempDir()
	m := Manifest{Command: []string{"explore"}, Shard: search.Shard{Part: 1, Of: 1}}
	s, err := Open(t.Context(), dir, m)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, err := Open(t.Context(), dir, m); err == nil || !strings.Contains(err.Error(), "another process is playing this shard") {
		t.Errorf("got %v", err)
	}
}

func TestBoundOfUnpacking(t *testing.T) {
	line, err := encode(key{}, workers.Outcome{Result: strings.Repeat("x", 1<<20)})
	if err != nil {
		t.Fatal(err)
	}
	if o, err := decode(line, 2<<20); err != nil || len(o.Result.(string)) != 1<<20 {
		t.Error(err)
	}
	if _, err := decode(line, 1<<20); err == nil || err.Error() != "it must unpack to less than 1048576 bytes" {
		t.Error(err)
	}
}

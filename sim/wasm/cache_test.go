//go:build !wasm

package wasm

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// TestPrune: what was used the longest ago goes first, until the rest is small enough; what may be in use stays.
func TestPrune(t *testing.T) {
	for _, test := range []struct {
		name string
		size int64
		want []string
	}{
		{"all fit", 400, []string{"a.wasm", "b", "c", "d"}},
		{"one has to go", 399, []string{"b", "c", "d"}},
		{"two have to go", 200, []string{"c", "d"}},
		{"too much in use", 0, []string{"d"}},
	} {
		dir := t.TempDir()
		put := func(name string, age time.Duration) {
			path := filepath.Join(dir, name)
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, make([]byte, 100), 0o600); err != nil {
				t.Fatal(err)
			}
			entry := path
			if d := filepath.Dir(path); d != dir {
				entry = filepath.Dir(d)
			}
			if used := time.Now().Add(-age); os.Chtimes(entry, used, used) != nil {
				t.Fatal(name)
			}
		}
		put("old/wazero/code", keptFor+time.Minute)
		put("a.wasm", 3*time.Hour)
		put("b/wazero/code", 2*time.Hour)
		put("c/wazero/code", time.Hour)
		put("d/wazero/code", time.Minute)
		prune(dir, test.size)
		left, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, d := range left {
			got = append(got, d.Name())
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%s: %v left, want %v", test.name, got, test.want)
		}
	}
	prune(filepath.Join(t.TempDir(), "none"), 0)
}

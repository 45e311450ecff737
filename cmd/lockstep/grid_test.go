package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"lockstep/clients"
	"lockstep/scenarios/script"
	"lockstep/scenarios/search"
)

// drawGrid draws a map into a directory.
func drawGrid(ctx context.Context, dir string, change func(*exploreFlags)) (printed string, err error) {
	f := &exploreFlags{
		known: known{locks: clients.Locks()},
		shape: search.Shape{Lock: "single", Clients: 2, Resource: script.Plain, TTL: script.DefaultTTL},
		grid:  []string{"pause=0s..4s/9", "ttl=1s..3s/5"}, runs: 20, seed: 1, out: dir, workers: 2,
	}
	if change != nil {
		change(f)
	}
	var out bytes.Buffer
	c := &cobra.Command{}
	c.SetContext(ctx)
	c.SetOut(&out)
	c.SetErr(&out)
	err = f.runGrid(c, nil)
	return out.String(), err
}

func gridFiles(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		data, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		files[e.Name()] = string(data)
	}
	return files
}

// A map that is continued after an interruption is the same to the byte as one that was not interrupted.
func TestGridResumes(t *testing.T) {
	if testing.Short() {
		t.Skip("plays hundreds of runs")
	}
	whole, parts := t.TempDir(), t.TempDir()
	printed, err := drawGrid(t.Context(), whole, nil)
	if err != nil || !strings.Contains(printed, "900 runs: ") {
		t.Fatalf("%s, %v", printed, err)
	}
	want := gridFiles(t, whole)

	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() { // as soon as the first cell is there
		for ctx.Err() == nil {
			if _, err := os.Stat(filepath.Join(parts, "grid.csv")); err == nil {
				cancel()
			}
			time.Sleep(time.Millisecond)
		}
	}()
	printed, err = drawGrid(ctx, parts, func(f *exploreFlags) { f.workers = 1 })
	if !errors.Is(err, context.Canceled) || !strings.Contains(printed, " of 45 cells are done") || !strings.Contains(printed, "the same command continues") {
		t.Fatalf("%s, %v", printed, err)
	}
	some := gridFiles(t, parts)
	if len(some) != 4 {
		t.Errorf("%d files, want grid.json, .csv, .svg and .png", len(some))
	}
	if n, all := strings.Count(some["grid.csv"], "\n"), strings.Count(want["grid.csv"], "\n"); n < 2 || n >= all {
		t.Fatalf("interrupted after %d of %d lines", n, all)
	}
	if !strings.Contains(some["grid.svg"], "not run") || !strings.Contains(some["grid.svg"], "cells have not been run") {
		t.Error("the picture does not show that cells are missing")
	}
	if _, err := drawGrid(t.Context(), parts, nil); err != nil {
		t.Fatal(err)
	}
	for name, data := range gridFiles(t, parts) {
		if data != want[name] {
			t.Errorf("%s is different", name)
		}
	}
	if _, err := png.Decode(strings.NewReader(want["grid.png"])); err != nil {
		t.Error(err)
	}
	if !strings.Contains(want["grid.svg"], "Share of unsafe runs: single on 1 node") || !strings.Contains(want["grid.svg"], "pause = TTL") {
		t.Error("the picture does not say what it is of")
	}
}

// Finished cells are read, and not run again.
func TestGridReadsWhatThereIs(t *testing.T) {
	dir := t.TempDir()
	if _, err := drawGrid(t.Context(), dir, nil); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "grid.csv")
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	const cell, other = "\n0,1,20,0,0.0000,0.0000,0.1611,0,0,", "\n0,1,20,0,0.0000,0.0000,0.1611,0,20,"
	if !strings.Contains(string(data), cell) {
		t.Fatalf("no cell %q in\n%s", cell, data)
	}
	changed := strings.Replace(string(data), cell, other, 1)
	if err := os.WriteFile(file, []byte(changed), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := drawGrid(t.Context(), dir, nil); err != nil {
		t.Fatal(err)
	}
	if got := gridFiles(t, dir)["grid.csv"]; got != changed {
		t.Errorf("a finished cell was run again:\n%s", got)
	}
}

// With --property only violations of that property make a run unsafe, and the picture says so.
func TestGridCountsProperties(t *testing.T) {
	for property, want := range map[string]bool{"resource exclusion": true, "deadlock freedom": false} {
		dir := t.TempDir()
		printed, err := drawGrid(t.Context(), dir, func(f *exploreFlags) {
			f.grid, f.runs, f.shape.TTL, f.property = []string{"pause=0s..4s/2"}, 10, time.Second, []string{property}
		})
		printed = strings.Join(strings.Fields(printed), " ")
		if err != nil || !strings.Contains(printed, "Share of runs that violate "+property+": single") {
			t.Fatalf("%s, %v", printed, err)
		}
		if unsafe := !strings.Contains(printed, " 0 unsafe"); unsafe != want {
			t.Errorf("%s: some are unsafe: %t, want %t\n%s", property, unsafe, want, printed)
		}
		if !strings.Contains(printed, "of the 10 that have one") {
			t.Errorf("runs without a perturbation count among those with one:\n%s", printed)
		}
		if question := gridFiles(t, dir)["grid.json"]; !strings.Contains(question, property) {
			t.Errorf("%s is not in grid.json:\n%s", property, question)
		}
	}
}

// If a map cannot be saved, its remaining cells are not run.
func TestGridEndsUnsaved(t *testing.T) {
	a, err := search.ParseAxis("pause=0s..4s/200")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	m := &gridMap{
		Grid: &search.Grid{Shape: search.Shape{Lock: "single"}, Axes: []search.Axis{a}, Runs: 2, Seed: 1},
		dir:  filepath.Join(file, "map"), known: map[search.Place]search.Tally{},
	}
	c := &cobra.Command{}
	c.SetContext(t.Context())
	c.SetErr(&bytes.Buffer{})
	if err := m.play(c, &search.Search{Workers: 1}); err == nil || !strings.Contains(err.Error(), file) {
		t.Errorf("%v, want that %s is not a directory", err, file)
	}
	if len(m.known) > 50 {
		t.Errorf("%d cells were run and lost", len(m.known))
	}
}

func TestGridRefuses(t *testing.T) {
	dir := t.TempDir()
	small := func(f *exploreFlags) { f.grid, f.runs = []string{"pause=0s..12s/3"}, 5 }
	if printed, err := drawGrid(t.Context(), dir, small); err != nil || !strings.Contains(printed, "15 runs") {
		t.Fatalf("%s, %v", printed, err)
	}
	file := filepath.Join(dir, "grid.csv")
	sound, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name   string
		change func(*exploreFlags)
		csv    string
		want   string
	}{
		{"another pool", func(f *exploreFlags) { f.shape.Pool = script.Warm }, "", `holds another map (pool: nothing there, "warm" here); name another --out`},
		{"another number of runs", func(f *exploreFlags) { f.runs = 6 }, "", "holds another map (runs: 5 there, 6 here); name another --out"},
		{"another axis", func(f *exploreFlags) { f.grid = []string{"delay=0s..12s/3"} }, "", `axes: ["pause=0s..12s/3"] there, ["delay=0s..12s/3"] here`},
		{"another lock", func(f *exploreFlags) { f.shape.Lock = "fixed" }, "", `lock: "single" there, "fixed" here`},
		{"another seed", func(f *exploreFlags) { f.seed = 2 }, "", "seed: 1 there, 2 here"},
		{"another property", func(f *exploreFlags) { f.property = []string{"lease exclusion"} }, "", `properties: nothing there, ["lease exclusion"] here`},
		{"no such property", func(f *exploreFlags) { f.property = []string{"lease exlusion"} }, "", `did you mean "lease exclusion"?`},
		{"another TTL", func(f *exploreFlags) { f.shape.TTL = time.Second }, "", `ttl: "10s" there, "1s" here`},
		{"a changed row", nil, strings.Replace(string(sound), "0,5,0,", "0,5,1,", 1), "grid.csv:2: this row was changed"},
		{"another cell", nil, strings.Replace(string(sound), "\n6,", "\n7,", 1), "grid.csv:3: this is not a cell of the map"},
		{"other columns", nil, strings.Replace(string(sound), "pause_s", "pause", 1), "grid.csv:1: the columns are not pause_s,runs,unsafe"},
		{"no table", nil, strings.Replace(string(sound), "\n6,", "\n6,\"", 1), "choose another --out, or remove this file and grid.json"},
		{"a cut row", nil, string(sound[:len(sound)-9]), "grid.csv: record on line 4: wrong number of fields; choose another --out, or remove this file and grid.json"},
		{"no directory", func(f *exploreFlags) { f.out = "" }, "", "--grid needs --out"},
		{"no such axis", func(f *exploreFlags) { f.grid = []string{"puase=0s..1s/2"} }, "", "--grid: "},
		{"three axes", func(f *exploreFlags) { f.grid = []string{"pause=0s..1s/2", "ttl=1s..2s/2", "delay=0s..1s/2"} }, "", "one or two"},
	} {
		contents := sound
		if test.csv != "" {
			contents = []byte(test.csv)
		}
		if err := os.WriteFile(file, contents, 0o644); err != nil {
			t.Fatal(err)
		}
		_, err := drawGrid(t.Context(), dir, func(f *exploreFlags) {
			small(f)
			if test.change != nil {
				test.change(f)
			}
		})
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v; want %q in it", test.name, err, test.want)
		}
		if after, _ := os.ReadFile(file); !bytes.Equal(after, contents) {
			t.Errorf("%s: grid.csv was touched", test.name)
		}
	}
}

// A question with a duplicate field is refused: it could be taken for another question.
func TestGridRefusesDuplicateField(t *testing.T) {
	dir := t.TempDir()
	small := func(f *exploreFlags) { f.grid, f.runs = []string{"pause=0s..12s/3"}, 5 }
	if _, err := drawGrid(t.Context(), dir, small); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "grid.json")
	sound, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	doubled := strings.Replace(string(sound), "{\n", "{\n  \"seed\": 2,\n", 1)
	if err := os.WriteFile(file, []byte(doubled), 0o644); err != nil {
		t.Fatal(err)
	}
	line := 1 + strings.Count(doubled[:strings.LastIndex(doubled, `"seed"`)], "\n")
	want := fmt.Sprintf(`grid.json:%d: the field "seed" occurs twice`, line)
	if _, err := drawGrid(t.Context(), dir, small); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v, want %s", err, want)
	}
}

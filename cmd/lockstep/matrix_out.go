package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"

	"lockstep/reports/pictures"
	"lockstep/scenarios/files"
)

// writeMatrixJSON writes a matrix for programs.
func writeMatrixJSON(w io.Writer, m *pictures.Matrix) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(m)
}

// writeMatrix writes a matrix into a directory: the picture as matrix.svg and matrix.png, matrix.md for people, and matrix.json for
// programs. Nothing is written unless everything can be drawn. In the SVG a cell links to its run if lockstep run --out has written that
// into the same directory.
func writeMatrix(ctx context.Context, dir string, m *pictures.Matrix) ([]string, error) {
	picture := &pictures.MatrixPicture{Matrix: m, Link: func(c *pictures.MatrixCell) string { return pageOf(dir, c) }}
	type file struct {
		name string
		data bytes.Buffer
	}
	var all []*file
	for _, form := range []struct {
		ending string
		write  func(io.Writer) error
	}{
		{".svg", picture.WriteSVG},
		{".png", picture.WritePNG},
		{".md", m.WriteMarkdown},
		{".json", func(w io.Writer) error { return writeMatrixJSON(w, m) }},
	} {
		f := &file{name: filepath.Join(dir, "matrix"+form.ending)}
		if err := form.write(&f.data); err != nil {
			return nil, fmt.Errorf("%s: %w", f.name, err)
		}
		all = append(all, f)
	}
	var names []string
	for _, f := range all {
		if err := files.Write(ctx, f.name, f.data.Bytes()); err != nil {
			return nil, err
		}
		names = append(names, f.name)
	}
	return names, nil
}

// pageOf is the URL of the HTML page of a cell's run, relative to a directory, or empty if there is no such page. writeArtifacts has named
// it.
func pageOf(dir string, c *pictures.MatrixCell) string {
	parts := strings.Split(c.Run, "/") // SCENARIO/REFERENCE[/LABEL]
	if len(parts) < 2 {
		return ""
	}
	name := c.Lock
	if parts[1] != c.Lock {
		name += "-for-" + parts[1]
	}
	for _, label := range parts[2:] {
		name += "-" + label
	}
	page := path.Join(parts[0], name+".html")
	if !filepath.IsLocal(filepath.FromSlash(page)) {
		return ""
	}
	if info, err := os.Stat(filepath.Join(dir, filepath.FromSlash(page))); err != nil || !info.Mode().IsRegular() {
		return ""
	}
	return (&url.URL{Path: page}).String()
}

package main

import (
	"bytes"
	"compress/gzip"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path"
	"slices"
	"strings"

	"lockstep/reports/sites"
)

// A site serves the files that its SHA256SUMS lists, unchanged.
type site struct {
	root    *os.Root
	exposed bool // other machines can reach it, so what a course has for the instructor is not served
}

// forInstructor is the directory of a course with the answers.
const forInstructor = "instructor/"

// isSite reports whether a directory contains a site. If SHA256SUMS were a pipe, opening it would wait for a writer.
func isSite(root *os.Root) bool {
	info, err := root.Stat(sites.Sums)
	if err != nil || !info.Mode().IsRegular() {
		return false
	}
	names, err := sites.Listed(root)
	return err == nil && slices.Contains(names, "index.html")
}

// siteMedia has the types of the files of a site, by their endings. All others are text, such as the code of a lab.
var siteMedia = map[string]string{
	".html": "text/html; charset=utf-8",
	".js":   "text/javascript; charset=utf-8",
	".css":  "text/css; charset=utf-8",
	".svg":  "image/svg+xml",
	".png":  "image/png",
}

// ServeHTTP answers with a file, and for a directory with its index.html. Pages have policies of their own, and may contain each other.
func (s site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name := strings.TrimPrefix(r.URL.Path, "/")
	if name == "" || strings.HasSuffix(name, "/") {
		name += "index.html"
	}
	listed, err := sites.Listed(s.root)
	if err != nil || !fs.ValidPath(name) || !slices.Contains(listed, name) && name != sites.Sums {
		if err == nil && slices.Contains(listed, name+"/index.html") {
			http.Redirect(w, r, path.Base(name)+"/", http.StatusFound)
			return
		}
		refuse(w, fs.ErrNotExist)
		return
	}
	if s.exposed && strings.HasPrefix(name, forInstructor) {
		http.Error(w, "lockstep serve shows the directory "+forInstructor+" only without --expose", http.StatusForbidden)
		return
	}
	f, info, err := openFile(s.root, name)
	if err != nil {
		refuse(w, err)
		return
	}
	defer f.Close()
	kind := siteMedia[path.Ext(name)]
	if kind == "" {
		kind = media[".txt"]
	}
	h := w.Header()
	h.Set("Content-Type", kind)
	h.Set("Cache-Control", "no-cache") // kept, and asked about each time: engine.js is large
	h.Set("Content-Security-Policy", filePolicy)
	if path.Ext(name) == ".html" {
		h.Set("Content-Security-Policy", "frame-ancestors 'self'")
		h.Set("X-Frame-Options", "SAMEORIGIN")
	}
	var content io.ReadSeeker = f
	if ext := path.Ext(name); ext == ".html" || ext == ".js" {
		h.Set("Vary", "Accept-Encoding")
		if unpacks(r) {
			packed, err := packed(f)
			if err != nil {
				refuse(w, err)
				return
			}
			h.Set("Content-Encoding", "gzip")
			content = bytes.NewReader(packed)
		}
	}
	http.ServeContent(w, r, "", info.ModTime(), content)
}

// unpacks reports whether a browser accepts gzip.
func unpacks(r *http.Request) bool {
	for part := range strings.SplitSeq(r.Header.Get("Accept-Encoding"), ",") {
		if coding, quality, _ := strings.Cut(strings.TrimSpace(part), ";"); coding == "gzip" && strings.TrimSpace(quality) != "q=0" {
			return true
		}
	}
	return false
}

func packed(from io.Reader) ([]byte, error) {
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.BestSpeed)
	if err != nil {
		return nil, err
	}
	if _, err := io.Copy(w, from); err != nil {
		return nil, err
	}
	err = w.Close()
	return b.Bytes(), err
}

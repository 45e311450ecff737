package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path"
	"strings"
	"sync"
	"time"

	"lockstep/checker"
	"lockstep/reports"
	"lockstep/reports/explorer"
	"lockstep/scenarios/files"
	"lockstep/scenarios/play"
)

// A shelf serves a directory of runs.
type shelf struct {
	root *os.Root
	name string

	mu    sync.Mutex
	pages pages
	known map[string]volume // by the name of the history
}

// A volume is a cached entry of the list, which is valid as long as the file of the history is the same.
type volume struct {
	size    int64
	written time.Time
	book    book
}

// A book is a run in the list.
type book struct {
	Scenario, Run, On           string
	Seed                        uint64
	Verdict                     checker.Verdict
	Violated, Broken            string
	As                          string // as expected: yes, NO, or ? if no scenario says what to expect
	Events                      int
	Error                       string // why it cannot be judged
	Path                        string // the path of the history, without its ending
	Page, Text, SVG, PNG, JSONL string // links; empty if there is no such file
}

func newShelf(root *os.Root, name string) *shelf {
	return &shelf{root: root, name: name, pages: pages{}, known: map[string]volume{}}
}

// media has the types of the files that are served, by their endings. A history is text, so that a browser shows it.
var media = map[string]string{
	".txt":   "text/plain; charset=utf-8",
	".jsonl": "text/plain; charset=utf-8",
	".svg":   "image/svg+xml",
	".png":   "image/png",
}

// filePolicy allows a picture its styles, and nothing else.
const filePolicy = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; sandbox"

// handler answers requests for runs.
func (s *shelf) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/{$}", s.list)
	mux.HandleFunc("/run/{path...}", s.run)
	mux.HandleFunc("/file/{path...}", s.file)
	return mux
}

// list answers with the list of the runs.
func (s *shelf) list(w http.ResponseWriter, _ *http.Request) {
	files, unended, err := histories(s.root.FS())
	if err != nil {
		refuse(w, err)
		return
	}
	list := explorer.List{Title: "Runs in " + s.name, As: "as expected", Empty: "There are no histories here. lockstep run --out DIR writes them."}
	count := map[checker.Verdict]int{}
	unexpected, unreadable := 0, 0
	for _, file := range unended {
		list.Rows = append(list.Rows, explorer.ListRow{
			Run: strings.TrimSuffix(file, ".report.txt"), Standing: "did not end", Look: "NO", Files: []explorer.Link{{Name: "report", Address: href("file", file)}},
		})
	}
	for _, file := range files {
		b := s.book(file)
		list.Rows = append(list.Rows, b.row())
		count[b.Verdict]++
		if b.As == "NO" {
			unexpected++
		}
		if b.Error != "" {
			unreadable++
		}
	}
	list.Sum = fmt.Sprintf("%s: %d SAFE, %d UNSAFE, %d UNKNOWN; %d not as expected", reports.Count(len(files), "run"),
		count[checker.Safe], count[checker.Unsafe], count[checker.Inconclusive], unexpected)
	if unreadable > 0 {
		list.Sum += fmt.Sprintf("; %d cannot be judged", unreadable)
	}
	if len(unended) > 0 {
		list.Sum += fmt.Sprintf("; %d did not end", len(unended))
	}
	var b bytes.Buffer
	if err := list.Write(&b); err != nil {
		refuse(w, err)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Write(b.Bytes())
}

// row is the entry in a list of runs.
func (b book) row() explorer.ListRow {
	r := explorer.ListRow{Run: b.Path, Standing: b.As, Look: b.As}
	if b.As == "n/a" {
		r.Look = "dim"
	}
	if b.Error != "" {
		r.Verdict, r.Why, r.Open = string(checker.Inconclusive), "cannot be judged: "+b.Error, true
	} else {
		r.Run, r.Page, r.Verdict, r.Violated, r.Broken = b.Scenario+": "+b.Run, b.Page, string(b.Verdict), b.Violated, b.Broken
		r.Facts = fmt.Sprintf("%s, seed %d, %s", b.On, b.Seed, reports.Count(b.Events, "event"))
	}
	for _, file := range []explorer.Link{{Name: "txt", Address: b.Text}, {Name: "svg", Address: b.SVG}, {Name: "png", Address: b.PNG}, {Name: "jsonl", Address: b.JSONL}} {
		if file.Address != "" {
			r.Files = append(r.Files, file)
		}
	}
	return r
}

// href is the URL of a run or a file in the directory.
func href(kind, name string) string { return (&url.URL{Path: "/" + kind + "/" + name}).EscapedPath() }

// book returns the entry of a history, from the cache if the file has not changed.
func (s *shelf) book(file string) book {
	s.mu.Lock()
	defer s.mu.Unlock()
	name := strings.TrimSuffix(file, ".jsonl")
	info, err := s.root.Stat(file)
	if err != nil {
		return book{Path: reports.Visible(name), Error: oneLine(reason(err))}
	}
	if v, ok := s.known[file]; ok && v.size == info.Size() && v.written.Equal(info.ModTime()) {
		return s.link(v.book, name)
	}
	b := book{Path: reports.Visible(name)}
	o, err := s.judge(file)
	if err != nil {
		b.Error = oneLine(reason(err))
	} else {
		m := o.History.Meta
		b.Scenario, b.Run, b.On, b.Seed = o.Scenario.Name, who(o), oneLine(m.On), m.Seed
		b.Verdict, b.Events = o.Result.Verdict, len(o.History.Events)
		b.Violated, b.Broken = summary(o)
		b.Violated, b.Broken = strings.ReplaceAll(b.Violated, "\n", ", "), strings.ReplaceAll(b.Broken, "\n", ", ")
		switch {
		case unfit(o) != "":
			b.As = "n/a"
		case pageless(o):
			b.As = "?"
		case len(o.Unexpected()) > 0 || o.Result.Verdict != o.ExpectedVerdict():
			b.As = "NO"
		default:
			b.As = "yes"
		}
	}
	s.known[file] = volume{info.Size(), info.ModTime(), b}
	return s.link(b, name)
}

// link adds the links to the page of a run and to its files.
func (s *shelf) link(b book, name string) book {
	if b.Error == "" {
		b.Page = href("run", name)
	}
	b.JSONL = href("file", name+".jsonl")
	for ending, to := range map[string]*string{".txt": &b.Text, ".svg": &b.SVG, ".png": &b.PNG} {
		if info, err := s.root.Stat(name + ending); err == nil && info.Mode().IsRegular() {
			*to = href("file", name+ending)
		}
	}
	return b
}

// judge reads a history and judges it.
func (s *shelf) judge(file string) (*play.Outcome, error) {
	in, _, err := openFile(s.root, file)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	data, err := io.ReadAll(files.Limit(in, path.Base(file), largestFile))
	if err != nil {
		return nil, err
	}
	h, err := parseHistory(data)
	if err != nil {
		return nil, fmt.Errorf("line %w", err)
	}
	return s.pages.judge(h), nil
}

// openFile opens a regular file in a directory. A link that leads outside is treated as missing, and opening a pipe would wait for its
// other end.
func openFile(root *os.Root, name string) (*os.File, fs.FileInfo, error) {
	info, err := root.Stat(name)
	if err != nil {
		return nil, nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, nil, fs.ErrNotExist
	}
	f, err := root.Open(name)
	if err != nil {
		return nil, nil, err
	}
	if info, err = f.Stat(); err == nil && !info.Mode().IsRegular() {
		err = fs.ErrNotExist
	}
	if err != nil {
		f.Close()
		return nil, nil, err
	}
	return f, info, nil
}

// named is the name of the file that a request asks for; ok is false if files with such a name are never served.
func named(r *http.Request) (name string, ok bool) {
	name = r.PathValue("path")
	if !fs.ValidPath(name) || name == "." {
		return "", false
	}
	for part := range strings.SplitSeq(name, "/") {
		if strings.HasPrefix(part, ".") {
			return "", false
		}
	}
	return name, true
}

// run answers with the page to explore a run.
func (s *shelf) run(w http.ResponseWriter, r *http.Request) {
	name, ok := named(r)
	if !ok {
		refuse(w, fs.ErrNotExist)
		return
	}
	s.mu.Lock()
	o, err := s.judge(name + ".jsonl")
	s.mu.Unlock()
	if err != nil {
		refuse(w, err)
		return
	}
	var b bytes.Buffer
	if err := explorer.Page(&b, explorer.Link{Name: "All runs", Address: "/"}, pageRuns([]*play.Outcome{o})...); err != nil {
		refuse(w, err)
		return
	}
	w.Header().Set("Content-Security-Policy", explorer.Policy()+"; frame-ancestors 'none'")
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Write(b.Bytes())
}

// file answers with a timeline, a picture or a history as it is.
func (s *shelf) file(w http.ResponseWriter, r *http.Request) {
	name, ok := named(r)
	kind := media[path.Ext(name)]
	if !ok || kind == "" {
		refuse(w, fs.ErrNotExist)
		return
	}
	f, info, err := openFile(s.root, name)
	if err != nil {
		refuse(w, err)
		return
	}
	defer f.Close()
	w.Header().Set("Content-Security-Policy", filePolicy)
	w.Header().Set("Content-Type", kind)
	http.ServeContent(w, r, "", info.ModTime(), f)
}

// refuse answers with an error. Files that do not exist, or that a link leads to outside the directory, are not found.
func refuse(w http.ResponseWriter, err error) {
	if pathError := (*fs.PathError)(nil); errors.Is(err, fs.ErrNotExist) || errors.As(err, &pathError) {
		http.Error(w, "there is no such run or file here", http.StatusNotFound)
		return
	}
	http.Error(w, "lockstep: "+reason(err), http.StatusUnprocessableEntity)
}

// reason is the text of an error in one line, without the path of the file on this machine.
func reason(err error) string {
	if pathError, ok := errors.AsType[*fs.PathError](err); ok {
		err = pathError.Err
	}
	return oneLine(err.Error())
}

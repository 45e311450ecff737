package debate

import (
	"bytes"
	"compress/gzip"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html/template"

	"lockstep/reports/explorer"
)

// A Live is what a site needs so that its readers can play runs themselves. The program is WebAssembly; a page runs it in a web worker.
type Live struct {
	Program []byte // lockstep/cmd/browser, compiled for js and wasm
	Glue    []byte // wasm_exec.js of the same release of Go, which starts it
	Menu    any    // what can be played, as JSON; see lockstep/scenarios/reader
}

const (
	livePage   = "live.html"
	liveEngine = "engine.js"
)

var (
	//go:embed live.css
	liveCSS string
	//go:embed live.js
	liveJS string
	//go:embed worker.js
	workerJS string
)

// livePages writes the page on which runs can be changed and played again, and the script with the program. The script is a file of its
// own: a browser keeps it while the reader goes from claim to claim.
func (s *site) livePages() ([]File, error) {
	if s.Live == nil {
		return nil, nil
	}
	engine, err := s.Live.engine()
	if err != nil {
		return nil, err
	}
	frame, err := explorer.Frame()
	if err != nil {
		return nil, err
	}
	menu, err := json.Marshal(s.Live.Menu)
	if err != nil {
		return nil, err
	}
	p := s.page(livePage, "Play it yourself")
	script := explorer.Script() + template.JS(liveJS)
	// A worker is started from text in the memory of the page: a browser starts none from a file on disk. Trusted Types allow
	// addresses of scripts only from the policy that starts it.
	p.Policy = "default-src 'none'; style-src " + explorer.HashSource(string(style)) + " " + explorer.HashSource(string(explorer.Style())) + " " + explorer.HashSource(liveCSS) +
		"; script-src 'self' 'wasm-unsafe-eval' " + explorer.HashSource(string(script)) +
		"; worker-src blob:; base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; trusted-types lockstep"
	var b bytes.Buffer
	err = s.templates().ExecuteTemplate(&b, "live", struct {
		page
		Engine               string
		Menu                 template.JS
		Frame                template.HTML
		PageStyle, LiveStyle template.CSS
		Script               template.JS
	}{p, liveEngine, template.JS(menu), frame, explorer.Style(), template.CSS(liveCSS), script})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", livePage, err)
	}
	return []File{{livePage, b.Bytes()}, {liveEngine, engine}}, nil
}

// engine is a script that defines lockstepEngine: the text of the worker, and the compressed program.
func (l *Live) engine() ([]byte, error) {
	var program bytes.Buffer
	w, err := gzip.NewWriterLevel(&program, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(l.Program); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	text, err := json.Marshal(struct {
		Worker  string `json:"worker"`
		Program string `json:"program"`
		Size    int    `json:"size"` // of the compressed program, in bytes
	}{string(l.Glue) + "\n" + workerJS, base64.StdEncoding.EncodeToString(program.Bytes()), program.Len()})
	if err != nil {
		return nil, err
	}
	return fmt.Appendf(nil, "window.lockstepEngine = %s;\n", text), nil
}

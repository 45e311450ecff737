// Package playground writes pages whose readers play runs in their browsers. The simulator is compiled to WebAssembly, and runs in a web worker:
// no server and no network are needed.
package playground

import (
	"bytes"
	"compress/gzip"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"strings"

	"lockstep/reports/explorer"
)

// A Program plays the runs.
type Program struct {
	Wasm []byte // lockstep/cmd/browser, compiled for js and wasm
	Glue []byte // wasm_exec.js of the same release of Go, which starts it
	Menu any    // what can be played, as JSON; see lockstep/scenarios/reader
	Help any    // what the playground says about the language, as JSON; see lockstep/scenarios/reader
}

// EngineFile is the file from which a page loads [Program.Engine], unless it contains it.
const EngineFile = "engine.js"

var (
	//go:embed worker.js
	workerJS string
	//go:embed engine.js
	engineJS string
	//go:embed editor.js
	editorJS string
	//go:embed handles.js
	handlesJS string
	//go:embed drawing.js
	drawingJS string
	//go:embed playground.js
	playgroundJS string
	//go:embed playground.css
	playgroundCSS string
	//go:embed playground.html
	playgroundHTML string
)

// Script is the script of a page that plays runs: that of figures, those that start the program and draw for paper and files, and the page's own, whose names
// are not seen outside of it. The page needs an element template with [explorer.Frame] and the ID frame, and before this script that
// of the engine.
func Script(own ...string) template.JS {
	return explorer.ScriptWith(engineJS, drawingJS, "{\n", strings.Join(own, ""), "}\n")
}

// Policy is the Content-Security-Policy of such a page. A worker is started from text in the memory of the page: a browser starts none
// from a file on disk. Trusted Types allow addresses of scripts only from the policy that starts it.
func Policy(styles []string, scripts ...string) string {
	p := "default-src 'none'; style-src"
	for _, s := range styles {
		p += " " + explorer.HashSource(s)
	}
	p += "; script-src 'self' 'wasm-unsafe-eval'"
	for _, s := range scripts {
		p += " " + explorer.HashSource(s)
	}
	return p + "; worker-src blob:; base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; trusted-types lockstep"
}

// Engine is a script that defines lockstepEngine: the text of the worker, and the compressed program. A browser keeps it while the reader
// goes from page to page.
func (p *Program) Engine() ([]byte, error) {
	var program bytes.Buffer
	w, err := gzip.NewWriterLevel(&program, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(p.Wasm); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	text, err := json.Marshal(struct {
		Worker  string `json:"worker"`
		Program string `json:"program"`
		Size    int    `json:"size"` // of the compressed program, in bytes
	}{string(p.Glue) + "\n" + workerJS, base64.StdEncoding.EncodeToString(program.Bytes()), program.Len()})
	if err != nil {
		return nil, err
	}
	return fmt.Appendf(nil, "window.lockstepEngine = %s;\n", text), nil
}

// A Page is a playground: readers write a scenario in it, and play it.
type Page struct {
	Start string // what the page shows first: a run of the catalogue by its name, or a token; or two of these with a comma between them
	Back  string // the address of the page that it belongs to, if any
	// Runs are shown as a figure until the program has started, and where the script does not run. There may be none.
	Runs []explorer.Run
	// Engine is [Program.Engine] if the page is to contain it; otherwise the page loads it from [EngineFile] beside it.
	Engine []byte
}

// Write writes a playground.
func (p *Program) Write(w io.Writer, page Page) error {
	frame, err := explorer.Frame()
	if err != nil {
		return err
	}
	var figure template.HTML
	if len(page.Runs) > 0 {
		if figure, err = explorer.Figure(page.Runs...); err != nil {
			return err
		}
		figure = `<div id="first">` + figure + `</div>`
	}
	menu, err := json.Marshal(map[string]any{"menu": p.Menu, "start": page.Start, "help": p.Help})
	if err != nil {
		return err
	}
	script := Script(editorJS, handlesJS, playgroundJS)
	scripts := []string{string(script)}
	if page.Engine != nil {
		scripts = append(scripts, string(page.Engine))
	}
	t, err := template.New("").Parse(playgroundHTML)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	err = t.Execute(&b, struct {
		Policy, Back       string
		FigureStyle, Style template.CSS
		Figure, Frame      template.HTML
		Menu               template.JS
		Engine, Script     template.JS
	}{
		Policy([]string{string(explorer.Style()), playgroundCSS}, scripts...), page.Back, explorer.Style(), template.CSS(playgroundCSS), figure, frame,
		template.JS(menu), template.JS(page.Engine), script,
	})
	if err != nil {
		return err
	}
	_, err = w.Write(b.Bytes())
	return err
}

package main

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"lockstep/reports/playground"
	"lockstep/scenarios/reader"
)

// compileLimit is the longest time that the go command may take to compile the program for browsers.
const compileLimit = 10 * time.Minute

// inlined are the packages in which functions are inlined. They are where most of the time of a run is spent; without them runs take two or
// three times as long. Inlining in all others would make the compressed program a tenth larger.
var inlined = []string{
	"runtime/...", "internal/...", "sync/...", "strings", "bytes", "unicode/...", "strconv", "slices", "maps", "reflect", "time", "math/...",
	"encoding/json", "lockstep/sim/...", "container/...",
}

// compileProgram compiles the program with which readers play runs in a browser. It needs the go command and the source of Lockstep. The first
// time takes a minute or two, which it says.
func compileProgram(ctx context.Context, told io.Writer) (*playground.Program, error) {
	menu, err := reader.NewMenu()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "lockstep-browser-*")
	if err != nil {
		return nil, err
	}
	defer hold()()
	defer os.RemoveAll(dir)
	ctx, cancel := context.WithTimeout(ctx, compileLimit)
	defer cancel()
	slow := time.AfterFunc(2*time.Second, func() {
		fmt.Fprintln(told, "lockstep: compiling the program for browsers; this takes up to two minutes the first time, and about ten seconds after that")
	})
	defer slow.Stop()
	forBrowsers := goCommand{why: "compiles the program for browsers", env: []string{"GOOS=js", "GOARCH=wasm", "GOWASM=", "CGO_ENABLED=0"}}
	root, err := forBrowsers.run(ctx, "env", "GOROOT")
	if err != nil {
		return nil, err
	}
	root = strings.TrimSpace(root)
	overlay, err := withoutTLS(root, dir)
	if err != nil {
		return nil, err
	}
	program := filepath.Join(dir, "program.wasm")
	build := []string{"build", "-overlay", overlay, "-trimpath", "-buildvcs=false", "-ldflags=-s -w", "-gcflags=all=-l"}
	for _, p := range inlined {
		build = append(build, "-gcflags="+p+"=")
	}
	if _, err := forBrowsers.run(ctx, append(build, "-o", program, "lockstep/cmd/browser")...); err != nil {
		return nil, err
	}
	l := &playground.Program{Menu: menu, Help: reader.NewHelp()}
	if l.Wasm, err = os.ReadFile(program); err != nil {
		return nil, err
	}
	l.Glue, err = os.ReadFile(filepath.Join(root, "lib", "wasm", "wasm_exec.js"))
	return l, err
}

//go:embed browser/tls.txt
var emptyTLS []byte

// withoutTLS writes an overlay for the go command into a directory, with which crypto/tls is nearly empty. It returns the file.
func withoutTLS(root, dir string) (string, error) {
	tls := filepath.Join(root, "src", "crypto", "tls")
	entries, err := os.ReadDir(tls)
	if err != nil {
		return "", err
	}
	stub := filepath.Join(dir, "tls.go")
	replace := map[string]string{filepath.Join(tls, "tls.go"): stub}
	for _, e := range entries {
		if name := e.Name(); filepath.Ext(name) == ".go" && name != "tls.go" {
			replace[filepath.Join(tls, name)] = "" // as if it were not there
		}
	}
	text, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	file := filepath.Join(dir, "overlay.json")
	return file, errors.Join(os.WriteFile(stub, emptyTLS, 0o600), os.WriteFile(file, text, 0o600))
}

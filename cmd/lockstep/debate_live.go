package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"lockstep/reports/debate"
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

// livePages compiles the program with which readers play runs in a browser. It needs the go command and the source of Lockstep. The first
// time takes a minute or two, which it says.
func livePages(ctx context.Context, told io.Writer) (*debate.Live, error) {
	menu, err := reader.NewMenu()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "lockstep-browser-*")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	ctx, cancel := context.WithTimeout(ctx, compileLimit)
	defer cancel()
	slow := time.AfterFunc(2*time.Second, func() {
		fmt.Fprintln(told, "lockstep: compiling the program for browsers; this takes up to two minutes the first time, and about ten seconds after that")
	})
	defer slow.Stop()
	program := filepath.Join(dir, "program.wasm")
	build := []string{"build", "-trimpath", "-buildvcs=false", "-ldflags=-s -w", "-gcflags=all=-l"}
	for _, p := range inlined {
		build = append(build, "-gcflags="+p+"=")
	}
	forBrowsers := goCommand{why: "compiles the program for browsers", env: []string{"GOOS=js", "GOARCH=wasm", "GOWASM=", "CGO_ENABLED=0"}}
	if _, err := forBrowsers.run(ctx, append(build, "-o", program, "lockstep/cmd/browser")...); err != nil {
		return nil, err
	}
	root, err := forBrowsers.run(ctx, "env", "GOROOT")
	if err != nil {
		return nil, err
	}
	l := &debate.Live{Menu: menu}
	if l.Program, err = os.ReadFile(program); err != nil {
		return nil, err
	}
	l.Glue, err = os.ReadFile(filepath.Join(strings.TrimSpace(root), "lib", "wasm", "wasm_exec.js"))
	return l, err
}

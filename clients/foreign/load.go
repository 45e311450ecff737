//go:build !wasm

package foreign

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"sync"

	"lockstep/clients"
	"lockstep/sim/wasm"
)

// largestFile is the largest size of a module, in bytes.
const largestFile = 256 << 20

// Find returns the lock with a name, which begins with [clients.WasmPrefix]. The error says what is wrong with its file.
func Find(name string) (clients.New, error) {
	if err := clients.CheckWasm(name); err != nil {
		return nil, err
	}
	file := strings.TrimPrefix(name, clients.WasmPrefix)
	m, err := load(file)
	if err != nil {
		return nil, fmt.Errorf("%s%s: %w", clients.WasmPrefix, file, err)
	}
	return func(env clients.Env) clients.Locker { return start(env, m, file) }, nil
}

// loaded has the modules that this process has loaded, by their files. A module stays for as long as its file.
var loaded struct {
	sync.Mutex
	of map[string]program
}

type program struct {
	sum    [sha256.Size]byte
	module *wasm.Module
}

func load(file string) (*wasm.Module, error) {
	info, err := os.Stat(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, errors.New("there is no such file")
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, errors.New("it is not a regular file")
	case info.Size() > largestFile:
		return nil, fmt.Errorf("it has %d bytes, and may have at most %d", info.Size(), largestFile)
	}
	code, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(code)
	loaded.Lock()
	defer loaded.Unlock()
	if p, ok := loaded.of[file]; ok && p.sum == sum {
		return p.module, nil
	}
	switch {
	case !strings.HasPrefix(string(code), "\x00asm"):
		return nil, errors.New("it is not a WebAssembly module: a module begins with the bytes 00 61 73 6d")
	case strings.HasPrefix(string(code[4:]), "\x0d\x00\x01\x00"):
		return nil, errors.New("it is a WebAssembly component; it must be a module for WASI preview 1 (wasm32-wasi, wasm32-wasip1)")
	}
	m, err := wasm.CompileInCache(context.Background(), code)
	if err != nil {
		return nil, err
	}
	if err := m.Fits("dial"); err != nil {
		m.Close()
		return nil, err
	}
	if loaded.of == nil {
		loaded.of = map[string]program{}
	}
	loaded.of[file] = program{sum, m} // an earlier module may still be running
	return m, nil
}

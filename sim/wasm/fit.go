//go:build !wasm

package wasm

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"
)

// Fits returns nil if an instance can run the module, and otherwise an error that says what is wrong. The module must be a
// program for WASI preview 1. Of the functions in the module "lockstep" it may import only those with the given names.
func (m *Module) Fits(own ...string) error {
	if len(m.compiled.ImportedMemories()) > 0 {
		return errors.New("it imports its memory; it must have its own, and export it as memory")
	}
	for _, f := range m.compiled.ImportedFunctions() {
		module, name, _ := f.Import()
		given, ok := m.given[module][name]
		switch {
		case !ok, module == hostModule && !slices.Contains(own, name):
			return fmt.Errorf("it imports %s.%s, but may import only functions of %s, and %s", module, name, wasi_snapshot_preview1.ModuleName, list(own))
		case !slices.Equal(f.ParamTypes(), given.ParamTypes()) || !slices.Equal(f.ResultTypes(), given.ResultTypes()):
			return fmt.Errorf("it imports %s.%s as a function of %s, but that is one of %s", module, name, signature(f), signature(given))
		}
	}
	start, ok := m.compiled.ExportedFunctions()["_start"]
	switch {
	case !ok:
		return fmt.Errorf("it exports no function _start%s: it must be a program with a main function, and not a library", m.exports())
	case len(start.ParamTypes())+len(start.ResultTypes()) > 0:
		return fmt.Errorf("its _start is a function of %s, but must be one of %s", signature(start), types(nil, nil))
	case m.compiled.ExportedMemories()["memory"] == nil:
		return errors.New("it exports no memory with the name memory")
	}
	return nil
}

// exports lists what the module exports, for an error.
func (m *Module) exports() string {
	names := slices.Sorted(maps.Keys(m.compiled.ExportedFunctions()))
	if len(names) == 0 {
		return ""
	}
	return ", only " + strings.Join(names[:min(5, len(names))], ", ")
}

func list(own []string) string {
	var all []string
	for _, name := range own {
		all = append(all, hostModule+"."+name)
	}
	return strings.Join(all, ", ")
}

func signature(f api.FunctionDefinition) string { return types(f.ParamTypes(), f.ResultTypes()) }

// types is a signature in the notation of WebAssembly text.
func types(params, results []api.ValueType) string {
	names := func(types []api.ValueType) string {
		var all []string
		for _, t := range types {
			all = append(all, api.ValueTypeName(t))
		}
		return "(" + strings.Join(all, " ") + ")"
	}
	return names(params) + " -> " + names(results)
}

//go:build wasm

package wasm

// SetSource does nothing: a program that is compiled to WebAssembly has no guests.
func SetSource(string, bool) {}

// SourceUnderTest reports false, for the same reason.
func SourceUnderTest() (dir string, options []string, ok bool) { return "", nil, false }

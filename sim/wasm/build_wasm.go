//go:build wasm

package wasm

// SetSource does nothing: a program that is compiled to WebAssembly has no guests.
func SetSource(string) {}

// TestSource returns nothing, for the same reason.
func TestSource() (dir string, options []string) { return "", nil }

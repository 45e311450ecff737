//go:build wasm

package wasm

// SetSource does nothing: a program that is compiled to WebAssembly has no guests.
func SetSource(string) {}

// TestDir returns nothing, for the same reason.
func TestDir() string { return "" }

//go:build wasm

package wasm

// SetSource does nothing: a guest compiles no guests.
func SetSource(string) {}

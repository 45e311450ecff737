//go:build !wasm

package wasm

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
)

const head = "\x00asm\x01\x00\x00\x00"

func TestTakeData(t *testing.T) {
	const other = "\x05\x03\x01\x00\x02" // a memory section
	for name, tt := range map[string]struct{ module, rest, data string }{
		"no data":                     {head + other, head + other, ""},
		"two pieces":                  {head + other + "\x0b\x10\x02" + "\x00\x41\x01\x0b\x03abc" + "\x00\x41\x06\x0b\x02de", head + other, "\x00abc\x00\x00de"},
		"the second before the first": {head + "\x0b\x0f\x02" + "\x00\x41\x04\x0b\x02de" + "\x00\x41\x00\x0b\x02ab", head, "ab\x00\x00de"},
		"over one another":            {head + "\x0b\x0f\x02" + "\x00\x41\x00\x0b\x03abc" + "\x00\x41\x01\x0b\x01X", head, "aXc"},
		"far away":                    {head + "\x0b\x08\x01" + "\x00\x41\x80\x01\x0b\x01x", head, strings.Repeat("\x00", 128) + "x"},
		"a section after it":          {head + "\x0b\x07\x01" + "\x00\x41\x00\x0b\x01x" + "\x00\x02\x01n", head + "\x00\x02\x01n", "x"},
	} {
		rest, data, err := takeData([]byte(tt.module))
		if string(rest) != tt.rest || string(data) != tt.data || err != nil {
			t.Errorf("%s: %q, %q, %v", name, rest, data, err)
		}
	}
	for name, module := range map[string]string{
		"empty":                      "",
		"a length without bytes":     head + "\x05\x09",
		"no length":                  head + "\x05",
		"data that is counted":       head + "\x0c\x01\x00",
		"passive":                    head + "\x0b\x04\x01\x01\x01x",
		"at a global":                head + "\x0b\x07\x01\x00\x23\x00\x0b\x01x",
		"at a negative place":        head + "\x0b\x07\x01\x00\x41\x7f\x0b\x01x",
		"beyond memory":              head + "\x0b\x0b\x01\x00\x41\xff\xff\xff\xff\x07\x0b\x01x",
		"a number of too many bytes": head + "\x0b\x0c\x01\x00\x41\x80\x80\x80\x80\x80\x00\x0b\x01x",
		"fewer pieces than it says":  head + "\x0b\x07\x02\x00\x41\x00\x0b\x01x",
	} {
		if _, _, err := takeData([]byte(module)); !errors.Is(err, errForm) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A program does the same whether its memory is mapped or allocated.
func TestAllocatedMemory(t *testing.T) {
	code, err := toyCode()
	if err != nil {
		t.Fatal(err)
	}
	allocated, err := compile(context.Background(), code, t.TempDir(), func([]byte) (*memories, error) { return nil, errors.ErrUnsupported })
	if err != nil {
		t.Fatal(err)
	}
	defer allocated.Close()
	mapped, err := toy()
	if err != nil {
		t.Fatal(err)
	}
	var said [][]string
	for _, m := range []*Module{allocated, mapped} {
		r := playWith(t, m, 1, nil, "time")
		if r.err != nil {
			t.Fatal(r.err)
		}
		said = append(said, append(r.said, r.sum))
	}
	if len(said[0]) < 2 || !slices.Equal(said[0], said[1]) {
		t.Errorf("allocated: %q\nmapped: %q", said[0], said[1])
	}
}

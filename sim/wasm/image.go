//go:build !wasm

package wasm

import (
	"encoding/binary"
	"errors"
)

// A module has what its memory contains at the start in its data section, in pieces, of which a Go program has some sixty thousand.
// Copying them one by one took a fifth of a short run. So they are put together once, and each instance maps the result; see memories.

// Numbers of the binary format: WebAssembly Core Specification 2.0, chapter 5.
const (
	preamble    = 8 // bytes
	dataSection = 11
	dataCount   = 12
	opI32Const  = 0x41
	opEnd       = 0x0b
	intoMemory0 = 0 // a segment that is copied into memory 0 when an instance starts
)

// errForm says that a module has another form than the Go linker gives it. It may be valid all the same.
var errForm = errors.New("the data of the module is not where a Go program has it")

// takeData returns a module without its data section, and what that section puts into memory.
func takeData(module []byte) (rest, data []byte, err error) {
	if len(module) < preamble {
		return nil, nil, errForm
	}
	rest = append(rest, module[:preamble]...)
	r := reader{left: module[preamble:]}
	for len(r.left) > 0 && !r.wrong {
		section := r.left
		id, body := r.byte(), r.bytes()
		switch id {
		case dataCount:
			return nil, nil, errForm
		case dataSection:
			if data, err = together(body); err != nil {
				return nil, nil, err
			}
		default:
			rest = append(rest, section[:len(section)-len(r.left)]...)
		}
	}
	if r.wrong {
		return nil, nil, errForm
	}
	return rest, data, nil
}

// together puts the pieces of a data section where they belong.
func together(section []byte) (data []byte, err error) {
	r := reader{left: section}
	for range r.uint32() {
		kind, op, at, end, piece := r.uint32(), r.byte(), r.int32(), r.byte(), r.bytes()
		to := int(at) + len(piece)
		if r.wrong || kind != intoMemory0 || op != opI32Const || end != opEnd || at < 0 || to > MostMemory*pageSize {
			return nil, errForm
		}
		if to > len(data) {
			data = append(data, make([]byte, to-len(data))...)
		}
		copy(data[at:], piece)
	}
	if r.wrong {
		return nil, errForm
	}
	return data, nil
}

// A reader reads a module. If it finds something wrong, it notes that, and returns zeros from then on.
type reader struct {
	left  []byte
	wrong bool
}

func (r *reader) fail() {
	r.left, r.wrong = nil, true
}

func (r *reader) byte() byte {
	if len(r.left) == 0 {
		r.fail()
		return 0
	}
	b := r.left[0]
	r.left = r.left[1:]
	return b
}

func (r *reader) uint32() uint32 {
	v, n := binary.Uvarint(r.left)
	if n <= 0 || v > 1<<32-1 {
		r.fail()
		return 0
	}
	r.left = r.left[n:]
	return uint32(v)
}

// int32 reads a signed number: seven bits in each byte, the lowest first, and the sign in the highest bit of the last seven.
func (r *reader) int32() int32 {
	var v int64
	for bits := 7; bits <= 35; bits += 7 {
		b := r.byte()
		v |= int64(b&0x7f) << (bits - 7)
		if b&0x80 == 0 {
			return int32(v << (64 - bits) >> (64 - bits))
		}
	}
	r.fail()
	return 0
}

// bytes reads a length, and as many bytes.
func (r *reader) bytes() []byte {
	n := r.uint32()
	if uint64(n) > uint64(len(r.left)) {
		r.fail()
		return nil
	}
	b := r.left[:n]
	r.left = r.left[n:]
	return b
}

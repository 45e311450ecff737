package wasm

import (
	"fmt"
	"os"
	"unsafe"

	"github.com/tetratelabs/wazero/experimental"
	"golang.org/x/sys/unix"
)

// memories are what the memories of all instances of a module begin with: a file that is mapped, so a page is copied when an instance
// writes to it, and not before. The memory of an instance is not on the heap of this process, so growing it copies nothing.
type memories struct {
	image *os.File // without a name
	size  uintptr  // of the image
}

// newMemories keeps data for the memories of instances.
func newMemories(data []byte) (*memories, error) {
	fd, err := unix.MemfdCreate("lockstep", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("memfd_create: %w", err)
	}
	m := &memories{os.NewFile(uintptr(fd), "lockstep"), uintptr(len(data))}
	if _, err := m.image.Write(data); err != nil {
		m.close()
		return nil, err
	}
	return m, nil
}

func (m *memories) close() { m.image.Close() }

const readWrite, private = unix.PROT_READ | unix.PROT_WRITE, unix.MAP_PRIVATE | unix.MAP_NORESERVE

// next returns the memory for one instance.
func (m *memories) next() (experimental.LinearMemory, error) {
	at, err := unix.MmapPtr(-1, 0, nil, MostMemory*pageSize, readWrite, private|unix.MAP_ANON)
	if err != nil {
		return nil, fmt.Errorf("mmap: %w", err)
	}
	if m.size > 0 {
		if _, err := unix.MmapPtr(int(m.image.Fd()), 0, at, m.size, readWrite, private|unix.MAP_FIXED); err != nil {
			unix.MunmapPtr(at, MostMemory*pageSize)
			return nil, fmt.Errorf("mmap: %w", err)
		}
	}
	return mapped{at}, nil
}

// mapped is a memory that is mapped as large as it may become.
type mapped struct{ at unsafe.Pointer }

func (m mapped) Reallocate(size uint64) []byte {
	if size > MostMemory*pageSize {
		return nil
	}
	return unsafe.Slice((*byte)(m.at), size)
}

func (m mapped) Free() { unix.MunmapPtr(m.at, MostMemory*pageSize) }

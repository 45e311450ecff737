package redisserver

import (
	"context"
	"debug/elf"
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
)

//go:embed preload/clock.c
var clockSource string

// CompileClock compiles the library that gives a server its [Clock], in a directory. The error wraps [ErrNoClocks].
func CompileClock(ctx context.Context, dir string) (library string, err error) {
	library = filepath.Join(dir, "clock.so")
	args := append(compiler(), "-shared", "-fPIC", "-O1", "-o", library, "-x", "c", "-")
	cc := exec.CommandContext(ctx, args[0], args[1:]...)
	tether(cc)
	// The compiler consists of several processes, of which only the first is tied to this one. If that is killed, the temporary
	// files of the others are removed with the other files of the run.
	cc.Env = append(os.Environ(), "TMPDIR="+dir)
	runtime.LockOSThread() // the compiler is killed when this thread ends
	defer runtime.UnlockOSThread()
	cc.Stdin = strings.NewReader(clockSource)
	if said, err := cc.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w: %s: %w\n%s", ErrNoClocks, cc, err, said)
	}
	return library, nil
}

// preloads returns an error if a program would not load the library: a script may not pass it on, and a statically linked program
// does not use it.
func preloads(program string) error {
	file, err := elf.Open(program)
	if err != nil {
		return fmt.Errorf("%w: %s is not a dynamically linked program; a script may not pass the library on", ErrNoClocks, program)
	}
	defer file.Close()
	for _, part := range file.Progs {
		if part.Type == elf.PT_INTERP {
			return nil
		}
	}
	return fmt.Errorf("%w: %s is linked statically", ErrNoClocks, program)
}

// loaded returns an error if a process does not have this clock. A library that cannot be loaded is not an error for the process,
// which only logs a line.
func (k *Clock) loaded(pid int) error {
	maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(maps)) {
		// The path may contain links. On a file system that forbids execution, the executable mapping is missing.
		if strings.HasSuffix(line, "/"+filepath.Base(k.library)+"\n") && strings.Contains(line, " r-xp ") {
			return nil
		}
	}
	return fmt.Errorf("%w: it has not loaded what %s made; is %s mounted noexec?", ErrNoClocks, strings.Join(compiler(), " "), filepath.Dir(k.library))
}

func mapFile(name string, size int) ([]byte, error) {
	file, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return syscall.Mmap(int(file.Fd()), 0, size, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
}

func unmap(mapped []byte) { syscall.Munmap(mapped) }

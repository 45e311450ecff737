//go:build unix

package workers

import (
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
)

// A Cleaner is a shell that runs a script after this process has ended, even by kill -9.
type Cleaner struct {
	cmd   *exec.Cmd
	input io.WriteCloser // the write end of a pipe from which the script reads; no other process has it
}

// StartCleaner starts a script with arguments. The script reads its input, which [Cleaner.Tell] writes, and cleans up when the input ends.
func StartCleaner(script string, args ...string) (*Cleaner, error) {
	b := &Cleaner{cmd: exec.Command("/bin/sh", append([]string{"-c", script, "sh"}, args...)...)}
	b.cmd.Dir = "/"
	b.cmd.Env = slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, markEnv) }) // it must outlive a worker that starts it
	b.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}                                                   // Ctrl-C at the terminal must not end it
	var err error
	if b.input, err = b.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	return b, b.cmd.Start()
}

// Tell writes a line to the input of the script.
func (b *Cleaner) Tell(line string) { io.WriteString(b.input, line+"\n") }

// End kills the script: there is nothing left to clean up.
func (b *Cleaner) End() {
	b.cmd.Process.Kill()
	b.cmd.Wait()
	b.input.Close()
}

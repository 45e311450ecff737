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

// A Broom is a shell that runs a script when this process is gone, however it ended: nothing else can clean up after a kill -9.
type Broom struct {
	cmd   *exec.Cmd
	input io.WriteCloser // the end of a pipe, which nobody else has; at the other one the script reads
}

// StartBroom starts a script with arguments. The script reads its input, which [Broom.Tell] writes, and cleans up when the input ends.
func StartBroom(script string, args ...string) (*Broom, error) {
	b := &Broom{cmd: exec.Command("/bin/sh", append([]string{"-c", script, "sh"}, args...)...)}
	b.cmd.Dir = "/"
	b.cmd.Env = slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, markEnv) }) // it outlives a worker that starts it
	b.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}                                                   // Ctrl-C at the terminal is not for it
	var err error
	if b.input, err = b.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	return b, b.cmd.Start()
}

// Tell writes a line to its input.
func (b *Broom) Tell(line string) { io.WriteString(b.input, line+"\n") }

// End ends the script: there is nothing left to clean up.
func (b *Broom) End() {
	b.cmd.Process.Kill()
	b.cmd.Wait()
	b.input.Close()
}

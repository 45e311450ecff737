//go:build unix

package nodes

import (
	"io"
	"os/exec"
	"syscall"
)

// broom is a process that removes a directory when this one is gone, in whatever way: nobody else is there to do it after a
// kill -9, and the kernel, which ends the servers then, removes no directories.
type broom struct {
	cmd   *exec.Cmd
	alive io.Closer // the end of a pipe; at the other one it waits
}

// sweep starts a broom for a directory. What has just been killed may still make a file, so it looks twice.
func sweep(dir string) (*broom, error) {
	const script = `read nothing; rm -rf -- "$1"; sleep 1; rm -rf -- "$1"`
	b := &broom{cmd: exec.Command("/bin/sh", "-c", script, "sh", dir)}
	b.cmd.Dir = "/"
	b.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // Ctrl-C at the terminal is not for it
	var err error
	if b.alive, err = b.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	return b, b.cmd.Start()
}

// end ends it: the directory was removed.
func (b *broom) end() {
	b.cmd.Process.Kill()
	b.cmd.Wait()
	b.alive.Close()
}

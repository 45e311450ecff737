package overlay

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"time"
)

// commandGrace is how long the go command may take to end once it has been interrupted. Then it is killed.
const commandGrace = time.Second

// Go runs the go command in a directory, with additional variables in its environment, and returns what it prints. When ctx ends, it is
// interrupted with the compilers that it has started. Its temporary files are removed, which it does not do itself when it is interrupted.
func Go(ctx context.Context, dir string, env []string, args ...string) (stdout, stderr []byte, err error) {
	scratch, err := os.MkdirTemp("", "lockstep-go-")
	if err != nil {
		return nil, nil, err
	}
	defer os.RemoveAll(scratch)
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = dir
	cmd.Env = append(append(cmd.Environ(), "GOTMPDIR="+scratch), env...)
	cmd.WaitDelay = commandGrace
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	interruptible(cmd)
	err = cmd.Run()
	return out.Bytes(), said.Bytes(), err
}

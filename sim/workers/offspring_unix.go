//go:build unix

package workers

import (
	"os/exec"
	"strconv"
	"syscall"
)

// A worker and the processes that its jobs start are a process group. When the worker has ended, the rest of the group is killed:
// a lock may start a process, and nothing else would end it. A process with a group or a session of its own is found by its
// environment on Linux (see killMarked), and is missed elsewhere.

// lead makes the process the leader of a new group.
func lead(cmd *exec.Cmd) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Setpgid = true
}

// killGroup kills the rest of the group of a process.
func killGroup(pid int) { syscall.Kill(-pid, syscall.SIGKILL) }

// notInherited keeps the pipes between the worker and its supervisor from being inherited by processes that a job starts.
func notInherited(files ...uintptr) {
	for _, f := range files {
		syscall.CloseOnExec(int(f))
	}
}

// groups is a script that reads the groups that start (+PID) and end (-PID), and kills those that are left when its input ends.
const groups = `
while read -r line; do
	case $line in
	+*) set -- "$@" "${line#+}" ;;
	-*) for pid; do shift; [ "$pid" = "${line#-}" ] || set -- "$@" "$pid"; done ;;
	esac
done
for pid; do kill -9 "-$pid"; done 2>/dev/null`

// note tells the cleaner that a group has started or ended.
func (b *Cleaner) note(sign string, pid int) {
	if b != nil {
		b.Tell(sign + strconv.Itoa(pid))
	}
}

// pollable makes reads of a pipe wait in the poller of the runtime. A read that blocks keeps the processor for up to ten milliseconds, which a
// worker with GOMAXPROCS=1 would lose before each job.
func pollable(pipe uintptr) { syscall.SetNonblock(int(pipe), true) }

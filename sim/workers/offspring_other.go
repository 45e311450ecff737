//go:build !unix

package workers

import "os/exec"

// There are no process groups here: what a lock starts has to end by itself.

func lead(*exec.Cmd) {}

func killGroup(int) {}

func notInherited(...uintptr) {}

const groups = ""

func (*Cleaner) note(string, int) {}

//go:build !unix

package workers

import "os/exec"

// There are no process groups here: processes that a lock starts have to end by themselves.

func lead(*exec.Cmd) {}

func killGroup(int) {}

func notInherited(...uintptr) {}

func pollable(uintptr) {}

const groups = ""

func (*Cleaner) note(string, int) {}

//go:build !linux

package main

import (
	"os"
	"os/exec"
)

// tether does nothing: only Linux can tie the life of a process to that of its parent.
func tether(*exec.Cmd) {}

func interrupt(p *os.Process) error { return p.Kill() }

func killGroup(*os.Process) {}

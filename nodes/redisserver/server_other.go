//go:build !linux

package redisserver

import "os/exec"

// tether does nothing: only Linux can tie the life of a process to that of its parent.
func tether(*exec.Cmd) {}

//go:build !unix

package nodes

import "os"

// There are no signals here that stop a process from running, or ask it to end.
var stopSignal, contSignal, termSignal os.Signal

//go:build !unix

package nodes

import "os"

// There are no signals here that stop a process from running.
var stopSignal, contSignal os.Signal

//go:build !unix

package main

import "os"

// lock never finds that a file is free: so nothing of others is removed.
func lock(*os.File) bool { return false }

//go:build !unix

package shards

import "os"

// lock does nothing on systems that cannot lock a file in this way.
func lock(*os.File) (bool, error) { return true, nil }

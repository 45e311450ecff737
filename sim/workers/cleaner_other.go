//go:build !unix

package workers

// A Cleaner would run a script when this process is gone. It needs a shell.
type Cleaner struct{}

// StartCleaner does nothing here.
func StartCleaner(string, ...string) (*Cleaner, error) { return &Cleaner{}, nil }

// Tell does nothing here.
func (*Cleaner) Tell(string) {}

// End does nothing here.
func (*Cleaner) End() {}

//go:build !unix

package workers

// A Broom would run a script when this process is gone. It needs a shell.
type Broom struct{}

// StartBroom does nothing here.
func StartBroom(string, ...string) (*Broom, error) { return &Broom{}, nil }

// Tell does nothing here.
func (*Broom) Tell(string) {}

// End does nothing here.
func (*Broom) End() {}

package history

import (
	"fmt"
	"regexp"
)

var processName = regexp.MustCompile(`^[a-z][a-z0-9]*$`)

// CheckName returns an error if a process cannot have this name.
func CheckName(name string) error {
	if !processName.MatchString(name) {
		return fmt.Errorf("%q is not the name of a process; a name consists of lower-case letters and digits, such as c1", name)
	}
	return nil
}

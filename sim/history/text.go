package history

import (
	"fmt"
	"strings"
)

// Shortened returns a text of at most n bytes, or a little more to say how much is left out in its middle.
func Shortened(s string, n int) string {
	if len(s) <= n {
		return s
	}
	first, last := strings.ToValidUTF8(s[:n-n/4], ""), strings.ToValidUTF8(s[len(s)-n/4:], "")
	return fmt.Sprintf("%s … (%d bytes) … %s", first, len(s)-len(first)-len(last), last)
}

package history

import (
	"fmt"
	"strings"
)

// Shortened returns a text of about n bytes at most. If it cuts something out of the middle, it says how much.
func Shortened(s string, n int) string {
	if len(s) <= n {
		return s
	}
	first, last := strings.ToValidUTF8(s[:n-n/4], ""), strings.ToValidUTF8(s[len(s)-n/4:], "")
	return fmt.Sprintf("%s … (%d bytes) … %s", first, len(s)-len(first)-len(last), last)
}

// ShortName leaves out the middle of a long name.
func ShortName(name string) string {
	const most, part = 48, 20
	if len(name) <= most {
		return name
	}
	return strings.ToValidUTF8(name[:part], "") + "…" + strings.ToValidUTF8(name[len(name)-part:], "")
}

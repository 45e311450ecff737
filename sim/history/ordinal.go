package history

import (
	"fmt"
	"strconv"
	"strings"
)

// MaxNth is the greatest number that [ParseNth] accepts.
const MaxNth = 100_000

// ParseNth parses an ordinal such as #3 at the beginning of the words, and returns the words after it. Without an ordinal it
// returns 0, which stands for the first.
func ParseNth(words []string) (nth int, rest []string, err error) {
	if len(words) == 0 || !strings.HasPrefix(words[0], "#") {
		return 0, words, nil
	}
	n, err := strconv.Atoi(words[0][1:])
	if err != nil || n < 2 || n > MaxNth || FormatNth(n) != words[0]+" " {
		return 0, nil, fmt.Errorf("%q must be a number from #2 to #%d; leave it out for the first", words[0], MaxNth)
	}
	return n, words[1:], nil
}

// FormatNth prints an ordinal for [ParseNth], followed by a space, and nothing for 0.
func FormatNth(nth int) string {
	if nth < 2 {
		return ""
	}
	return fmt.Sprintf("#%d ", nth)
}

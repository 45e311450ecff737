package sim

import (
	"fmt"
	"regexp"
	"runtime"
	"strings"
)

// MaxStacks is how many bytes of stacks are read.
const MaxStacks = 4 << 20

// shownStacks is how many bytes of stacks an error contains.
const shownStacks = 64 << 10

// Stacks returns the stacks of all goroutines, or if there are very many, the stacks of the first few thousand and the
// number of goroutines.
func Stacks() string {
	for size := 1 << 20; ; size *= 2 {
		buf := make([]byte, size)
		n := runtime.Stack(buf, true)
		if n < size {
			return string(buf[:n])
		}
		if size >= MaxStacks {
			return fmt.Sprintf("%s\n\n%s%d", buf[:n], InAll, runtime.NumGoroutine())
		}
	}
}

// InAll begins the last paragraph of what [Stacks] returns if stacks are missing. The number of goroutines follows it.
const InAll = "goroutines in all: "

// What differs between the stacks of two goroutines that do the same: their numbers, how long they wait, arguments, and
// addresses.
var incidental = regexp.MustCompile(`(?m)^goroutine \d+|, \d+ minutes|\([^()\n]*\)$| \+0x[0-9a-f]+$| in goroutine \d+$`)

// GroupStacks shortens a dump of stacks: of equal stacks it keeps the first, and says how many others there are. It does not
// change the rest of the dump or limit its length.
func GroupStacks(dump string) string {
	var first []string
	more := map[string]int{}
	same := map[string]string{} // as in the dump
	for text := range strings.SplitSeq(dump, "\n\n") {
		key := incidental.ReplaceAllString(strings.TrimSpace(text), "")
		if !strings.HasPrefix(text, "goroutine ") { // output of the program
			key = fmt.Sprint(len(first))
		}
		if _, seen := more[key]; seen {
			more[key]++
			continue
		}
		more[key], same[key] = 0, text
		first = append(first, key)
	}
	var b strings.Builder
	for i, key := range first {
		text := same[key]
		if n := more[key]; n > 0 {
			text = fmt.Sprintf("%s\n%s%d", strings.TrimRight(text, "\n"), AndMore, n)
		}
		if i > 0 {
			b.WriteString("\n\n")
		}
		b.WriteString(text)
	}
	return b.String()
}

// AndMore begins the line below a stack that gives the number of equal stacks.
const AndMore = "others with this stack: "

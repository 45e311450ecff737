//go:build wasip1 && more

package main

import "regexp"

// Each of these draws a seed when the package is initialized.
var (
	numbers = map[string]int{"one": 1}
	word    = regexp.MustCompile(`[a-z]+`)
	memory  = make([]*int, 1<<20)
)

func init() {
	for i := range memory {
		memory[i] = new(int)
	}
	numbers[word.String()]++
}

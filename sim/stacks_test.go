package sim

import (
	"fmt"
	"strings"
	"testing"
)

func TestGroupStacks(t *testing.T) {
	const dump = `goroutine 7 [chan receive, 2 minutes, synctest bubble 1]:
main.(*T).wait(0xc0000140a8)
	/a/b.go:23 +0x19
created by main.start in goroutine 6
	/a/b.go:20 +0xa8

goroutine 8 [chan receive, synctest bubble 1]:
main.(*T).wait(0xc0000140b0, {0x1, 0x2})
	/a/b.go:23 +0x1c
created by main.start in goroutine 9
	/a/b.go:20 +0xa8

goroutine 10 [chan send, synctest bubble 1]:
main.(*T).wait(0xc0000140b0)
	/a/b.go:23 +0x1c
created by main.start in goroutine 9
	/a/b.go:20 +0xa8

said by somebody

said by somebody

goroutine 9 [chan receive, synctest bubble 1]:
main.(*T).wait(...)
	/a/b.go:23
created by main.start in goroutine 9
	/a/b.go:20 +0xa8
`
	lines := strings.SplitAfter(dump, "\n")
	want := strings.Join(lines[:5], "") + AndMore + "2\n\n" + strings.Join(lines[12:21], "")
	if got := GroupStacks(dump); strings.TrimSpace(got) != strings.TrimSpace(want) {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	for _, as := range []string{"", "said", "said\n\nsaid\n"} {
		if got := GroupStacks(as); got != as {
			t.Errorf("%q became %q", as, got)
		}
	}
}

// An error about very many goroutines that do the same is short, and gives their number.
func TestLeakOfMany(t *testing.T) {
	const many = 30_000
	over := make(chan struct{})
	defer close(over)
	for range many {
		go func() { <-over }()
	}
	err := &LeakError{Stacks: Stacks()}
	said := err.Error()
	var all int
	_, after, _ := strings.Cut(said, InAll)
	fmt.Sscan(after, &all)
	if len(said) > 20_000 || all < many {
		t.Errorf("%d bytes, %d goroutines:\n%.3000s", len(said), all, said)
	}
	if strings.Count(said, "TestLeakOfMany.func") > 4 { // one that runs, one that has started, and one that waits, each with the line that started it
		t.Errorf("%.3000s", said)
	}
}

// Stacks includes the stack of its caller, and says if it has left some out.
func TestStacks(t *testing.T) {
	got := Stacks()
	cut := len(got) > MaxStacks // other tests leave goroutines behind
	if !strings.Contains(got, "TestStacks") || strings.Contains(got, InAll) != cut {
		t.Errorf("%d bytes: %.1000s", len(got), got)
	}
}

package sim

import (
	"errors"
	"fmt"
	"regexp"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"testing/synctest"

	"lockstep/sim/history"
)

// Bubble runs f with virtual time: inside it the time package's clock stands still until every goroutine of f is durably blocked,
// and then jumps to the next timer.
//
// The only public API for that is [synctest.Test], which requires a *testing.T. An empty one is enough, even outside go test and
// under GOOS=js, because nothing uses it. That is why this package imports testing.
//
// A panic of f is returned as an error; so are goroutines that f leaves behind, with their stacks ([LeakError]).
func Bubble(f func()) (err error) {
	done := make(chan struct{})
	var mark string
	go func() { // Test may end its goroutine, so it needs its own.
		defer close(done)
		defer func() {
			if r := recover(); r != nil && err == nil {
				err = &LeakError{Stacks: stacksOf(mark)}
			}
		}()
		synctest.Test(new(testing.T), func(*testing.T) {
			mark = bubbleMark()
			over := make(chan struct{})
			go func() { // an empty T fails if Goexit ends its own goroutine, as t.Fatal does
				defer close(over)
				err = errors.New("the goroutine of the run was ended by runtime.Goexit")
				defer func() {
					if r := recover(); r != nil {
						err = fmt.Errorf("panic: %v\n%s", r, stack())
					}
				}()
				f()
				err = nil
			}()
			<-over
		})
	}()
	<-done
	return err
}

var markPattern = regexp.MustCompile(`synctest bubble \d+`)

// bubbleMark returns the text by which a dump of stacks marks the goroutines in the caller's bubble.
func bubbleMark() string {
	var buf [128]byte
	return string(markPattern.Find(buf[:runtime.Stack(buf[:], false)]))
}

// stacksOf returns the stacks of the goroutines in one bubble. There may be others, from parallel tests or earlier runs.
func stacksOf(mark string) string {
	var in []string
	for g := range strings.SplitSeq(Stacks(), "\n\n") {
		if head, _, _ := strings.Cut(g, "\n"); markPattern.FindString(head) == mark || strings.HasPrefix(g, InAll) {
			in = append(in, g)
		}
	}
	return strings.Join(in, "\n\n")
}

// LeftBehind is the beginning of the message of a [LeakError].
const LeftBehind = "goroutines left behind"

// A LeakError reports goroutines that still existed after a run was over and every connection, context and clock that they could
// wait for had ended.
type LeakError struct {
	Stacks string // of the goroutines left, as the Go runtime prints them
}

func (e *LeakError) Error() string {
	return LeftBehind + ":\n" + history.Shortened(GroupStacks(e.Stacks), shownStacks)
}

func stack() string { return string(debug.Stack()) }

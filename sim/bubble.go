package sim

import (
	"fmt"
	"testing"
	"testing/synctest"
)

// Bubble runs f with virtual time: inside it the time package's clock stands still until every goroutine of f is
// durably blocked, and then goes to the next timer.
//
// The only public door to that is [synctest.Test], which wants a *testing.T. An empty one is enough, also outside
// go test and under GOOS=js; it is used for nothing. That is the reason for this file, and for the import of testing
// in a package that is no test.
//
// A panic of f is returned as an error; so are goroutines that f leaves behind, with their stacks ([LeakError]).
func Bubble(f func()) (err error) {
	done := make(chan struct{})
	go func() { // Test may end its goroutine, so it gets one of its own.
		defer close(done)
		defer func() {
			if r := recover(); r != nil && err == nil {
				err = &LeakError{Stacks: bubbleStacks()}
			}
		}()
		synctest.Test(new(testing.T), func(*testing.T) {
			defer func() {
				if r := recover(); r != nil {
					err = fmt.Errorf("panic: %v\n%s", r, stack())
				}
			}()
			f()
		})
	}()
	<-done
	return err
}

// A LeakError says that goroutines were left behind when a run was over and every connection, context and clock that
// they could wait for had ended.
type LeakError struct {
	Stacks string // of the goroutines left, as the Go runtime prints them
}

func (e *LeakError) Error() string { return "goroutines left behind:\n" + e.Stacks }

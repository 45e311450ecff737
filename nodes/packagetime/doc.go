// Package packagetime gives a process a package time whose clocks can be wrong. On real servers the code of a client is native,
// and a Go program asks the kernel for the time without the C library, so a preloaded library cannot change the answer, as it
// does for redis-server. So the program is built again, with a changed package time ([Build]): the go command replaces some lines
// of the standard library while it compiles (go build -overlay). Nothing is installed, and GOROOT stays as it is.
//
// In a program that is built this way, [Set] makes the clocks wrong. Both time.Now and the timers follow them, so a lock that calls
// package time meets the wrong clock. The runtime itself, and the rest of the machine, keep the right time.
package packagetime

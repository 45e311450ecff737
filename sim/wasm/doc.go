// Package wasm runs clients whose code calls package time, and locks in other languages. They are compiled to WebAssembly. Such
// clients (GOOS=wasip1) are guests of a world. To them the host is the whole machine: they see only the clocks, the randomness
// and the network of their process, and do not run while the process is paused. So every fault affects them, and every run can be
// repeated. For a lock in another language the host is any [Machine]; see package clients/foreign.
//
// An instance runs a program for WASI preview 1 (github.com/WebAssembly/WASI, snapshot-01). Besides the functions of WASI, the host
// gives it a module named "lockstep" with these functions, in the notation of WASI:
//
//	dial(addr: pointer, len: i32) -> fd: i32        begins to connect to IP:port; negative: minus an errno
//	connected(fd: i32) -> errno: i32                0: open; 6 (again): wait until fd is writable
//	idle(fd: i32) -> i32                            1 if the connection is open and has nothing to read
//	ask(question: pointer, len: i32) -> len: i32    puts a question to the host; returns the length of the answer
//	answer(buf: pointer)                            copies the last answer
//
// Connections are read, written, polled and closed by the functions of WASI. A lock in another language has only dial of these
// functions. Its connections block, so it can write to one that is not open yet.
package wasm

import "runtime"

// Inside reports whether this program is compiled as a guest.
const Inside = runtime.GOOS == "wasip1"

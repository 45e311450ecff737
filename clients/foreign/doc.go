// Package foreign runs locks that are written in any language and compiled to WebAssembly for WASI preview 1. Such a lock is a
// program that reads requests from standard input and answers on standard output; docs/other-languages.md has the protocol. It is
// a [clients.Locker] like any other: it has the clocks, the randomness and the network of its [clients.Env], in simulation and on
// real servers.
package foreign

// Package shards divides a command among machines, and puts the results together. Each machine plays its part of the runs, and keeps
// the answer of each worker process in a directory. Merging is the same command once more, in one process, which finds the answers
// instead of playing the runs. So its result is that of one process by construction, whatever the command is.
package shards

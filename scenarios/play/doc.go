// Package play carries out runs of scenarios, in simulation ([Simulate]) and on real servers, and judges them. An
// [Outcome] is a run's history and verdict; [RunAll] plays many runs in worker processes.
package play

// Package scenarios tests a lock. [Test] runs the scenarios of the catalogue against it, [Explore] searches for faults that break it,
// [RunFile] runs a scenario file of your own, and [Run] does what Test does in a program.
//
// [lockstep/scenarios/script] documents the language of scenario files.
package scenarios

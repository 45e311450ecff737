// Package scenarios tests a lock. [Test] runs the scenarios of the catalogue against it, [Explore] searches for faults
// that break it, [Limits] finds out how much of each fault it tolerates, [RunFile] runs a scenario file of your own, and [Run] does the same as
// Test outside of tests.
//
// [lockstep/scenarios/script] documents the language of scenario files.
package scenarios

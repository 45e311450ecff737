// Package reports says in words what happened in a run, and why it was right or wrong. [Text] writes a timeline, one line per event,
// which is also the golden text of scenario files.
//
// Reports show what the checker found, and find nothing themselves. The same run gives the same bytes. Package pictures draws what
// this one writes.
package reports

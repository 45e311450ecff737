// Package reports describes in words what happened in a run, and why it was right or wrong. [Text] writes a timeline with one
// line per event, which is also the golden text of scenario files.
//
// A report only shows what the checker has found. The same run gives the same bytes. Package pictures draws what this package writes.
package reports

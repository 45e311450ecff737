// Package reports shows what happened in a run, and why it was right or wrong.
//
// [Text] writes a timeline, one line per event, which is also the golden text of scenario files. [NewTimeline] draws it, with
// a lane for each process: who believed that it held the lock, which keys said so, which messages were under way, and what
// the resource accepted.
//
// Reports show what the checker found, and find nothing themselves. The same run gives the same bytes.
package reports

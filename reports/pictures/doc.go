// Package pictures draws what happened in runs. [NewTimeline] draws one run with a lane for each process: who believed that it held
// the lock, which keys said so, which messages were under way, and what the resource accepted. There are also a [Matrix] of verdicts,
// and plots of many runs. The same run gives the same bytes.
//
// The package links plots and fonts. A user's tests need only words, and do not import it.
package pictures

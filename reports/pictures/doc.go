// Package pictures draws what happened in a run: [NewTimeline] with a lane for each process (who believed that it held the lock, which
// keys said so, which messages were under way, and what the resource accepted), [Page] as a web page to step through, a [Matrix] of
// verdicts, plots of many runs, and the [Debate]. The same run gives the same bytes.
//
// It links plots and fonts, so that tests, which need words only, do not import it.
package pictures

// Package explorer writes web pages about runs: [Page] to step through a run, and [List] for a table of runs with links to them. It also turns a
// history into the [Story] that such a page, or a picture, shows.
//
// The browser draws these pages. So a user's test can link this package without linking plots and fonts.
package explorer

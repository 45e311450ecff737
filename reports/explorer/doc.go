// Package explorer writes web pages about runs: [Page] to step through a run, and [List] as the way to many of them. It also turns a
// history into the [Story] that such a page, or a picture, shows.
//
// It draws nothing itself: a browser does. So a user's test may link it.
package explorer

// Package ledger remembers what searches found, from one night to the next.
//
// A night is a label, such as a date. Each night adds what `lockstep explore --json` has printed: which locks were searched, how, and
// what was found. The ledger says what is new, what is still there, what is gone, and what has come back.
//
// # What makes two findings the same
//
// A [Finding] is a lock, a property, an assumption, and a shape: the steps that prove the violation, without names, times and magnitudes
// (see [Shape]). The version of the lock is not a part of it, but is recorded with each sighting. So a user who upgrades a library sees
// whether its findings are still there: with the version in the key they would all be new.
//
// # When a finding is gone
//
// A night says something about a finding only if it could have found it again. See [Finding.State], and covers for the rule.
package ledger

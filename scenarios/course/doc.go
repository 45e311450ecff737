// Package course judges the exercises of a lab about locks on Redis. [Judge] plays a student's lock in the stories of an exercise, and in
// all other runs of the catalogue for a lock of that kind, and counts points. [Grade] does so for many submissions.
//
// An exercise is a text file in the directory exercises. Its fields are:
//
//	exercise: TITLE
//	like: LOCK            the lock with which the student's is compared; see scenarios.Like
//	kind: WORDS           what that lock is, as in a lock on one node
//	file: FUNCTION        what the student writes in lock.go
//	with: FUNCTIONS       of package given, which a solution may use
//	idea:                 what the exercise is about
//	task:                 what the function must do, in paragraphs
//	story: RUN POINTS PROPERTY   a run of the catalogue that has points of its own, and below it a hint for a lock that violates
//	                             the property in it; several properties are separated by commas
//	hint: PROPERTY               a hint for other violations of the property
//	ttl:                         a hint for a lock whose keys have another TTL than those of a right lock
//	stuck:                       a hint for a function that does not return
//	answer: NAME POINTS          a file in the directory answers; see [Answer]
//	rest: POINTS                 the points for all runs
//
// Each run of the catalogue that fails costs [PerRun] of the points for all runs. lockstep course writes the lab;
// lockstep/scenarios/course/pack has its files.
package course

// Package course judges the exercises of a lab about locks on Redis. [Judge] plays a student's lock in the stories of an exercise, and in
// all other runs of the catalogue for a lock of that kind, and counts points. [Grade] does so for many submissions.
//
// An exercise is a text file in the directory exercises. Its fields are:
//
//	exercise: TITLE
//	like: LOCK            the lock with which the student's is compared; see scenarios.Like
//	file: FUNCTION        what the student writes in lock.go
//	without: FUNCTIONS    of package given, which a solution must not use; can be left out
//	idea:                 what the exercise is about
//	task:                 what the function must do, in paragraphs
//	story: RUN POINTS     a run that has points of its own, and below it a hint for a lock that fails it
//	rest: POINTS          the points for all runs, and below it a hint
//
// The points for all runs are lost by and by: each run that fails costs [PerRun] of them. lockstep course writes the lab;
// lockstep/scenarios/course/pack has its files.
package course

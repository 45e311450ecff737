// Grade grades submissions: go run ./grade -out RESULTS SUBMISSIONS, in the directory of the lab.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"

	"lockstep/scenarios/course"
)

func main() {
	out := flag.String("out", "", "write the results to this `directory`")
	flag.Usage = func() {
		fmt.Fprintln(flag.CommandLine.Output(), "usage: go run ./grade -out RESULTS SUBMISSIONS\n\n"+
			"SUBMISSIONS is a directory with a directory for each submission, or a single submission. A submission has a\n"+
			"folder for each exercise, such as 2-release, with the student's lock.go in it.")
		flag.PrintDefaults()
	}
	flag.Parse()
	if *out == "" || flag.NArg() != 1 {
		flag.Usage()
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	g := course.Grader{Lab: ".", Out: *out, Output: os.Stdout}
	grade := g.All
	if course.HasExercise(flag.Arg(0)) {
		grade = g.Submission
	}
	if err := grade(ctx, flag.Arg(0)); err != nil {
		fmt.Fprintln(os.Stderr, "grade:", err)
		os.Exit(1)
	}
}

// Package search looks for faults that break a lock. From a calm run, in which nothing goes wrong, it plays runs with
// perturbations: every plan up to a bound ([Search.Bound]), random walks over them, or a grid of magnitudes ([Grid]). It
// reduces what it finds to a scenario file ([Counterexample]).
package search

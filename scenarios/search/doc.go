// Package search looks for faults that break a lock. From a calm run, in which nothing goes wrong, it plays runs with perturbations:
// all of them up to a bound ([Search.Bound]), random walks over them, or a grid of magnitudes ([Grid]). What it finds it reduces to a
// scenario file ([Counterexample]).
package search

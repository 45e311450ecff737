package main

import (
	"strings"
	"testing"
)

// Without the program that carries it out, a command says which one it needs, and how to get it.
func TestCompanionIsMissing(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	err := newCompanion("ledger", "", "").RunE(nil, nil)
	if want := "lockstep ledger needs the program lockstep-fleet, beside lockstep or on PATH; make fleet builds it"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %s", err, want)
	}
}

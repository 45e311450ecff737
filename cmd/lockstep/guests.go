package main

import (
	"slices"

	"github.com/spf13/cobra"

	"lockstep/scenarios/play"
	"lockstep/sim/history"
)

// guestsValue is the value of --guests.
type guestsValue play.Guests

const guestsAuto = "auto"

func guestModes() []string {
	return []string{guestsAuto, string(play.GuestsAlways), string(play.GuestsNever)}
}

func (v *guestsValue) String() string {
	if *v == guestsValue(play.GuestsAuto) {
		return guestsAuto
	}
	return string(*v)
}

func (v *guestsValue) Set(s string) error {
	switch {
	case !slices.Contains(guestModes(), s):
		return history.Unknown("mode", s, guestModes())
	case s == guestsAuto:
		s = string(play.GuestsAuto)
	}
	*v = guestsValue(s)
	return nil
}

func (v *guestsValue) Type() string { return "guests" }

// guestsFlag adds the option that says when clients run as WebAssembly.
func guestsFlag(c *cobra.Command, g *play.Guests) {
	c.Flags().Var((*guestsValue)(g), "guests", "run clients as WebAssembly, where package time obeys faults; `WHEN` is auto, always or never")
}

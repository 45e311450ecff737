package pictures

import (
	"image/color"
	"slices"
)

// A pattern fills the bars of one client. Pictures are printed in black and white, and one reader in twenty cannot tell some colours
// apart. So a pattern or a word says everything that a colour says.
type pattern int

const (
	rising pattern = iota
	dots
	upright
	falling
	level
	crossed
)

// A look is the colour and pattern of a client's bars, marks and arrows on every lane.
type look struct {
	ink     color.NRGBA
	pattern pattern
}

// looks are the colours of Okabe and Ito, "Color Universal Design" (2008), with a pattern each. Vermilion and yellow are left out: the
// former would be mistaken for a violation, the latter cannot be read on white.
var looks = []look{
	{color.NRGBA{0x00, 0x72, 0xB2, 0xFF}, rising},
	{color.NRGBA{0xD9, 0x8B, 0x00, 0xFF}, dots},
	{color.NRGBA{0x00, 0x9E, 0x73, 0xFF}, upright},
	{color.NRGBA{0xB8, 0x5C, 0x92, 0xFF}, falling},
	{color.NRGBA{0x3A, 0x9B, 0xD6, 0xFF}, level},
	{color.NRGBA{0x55, 0x55, 0x55, 0xFF}, crossed},
}

// Each of these colours has one meaning. Red is reserved for violations.
var (
	black     = color.NRGBA{0x1A, 0x1A, 0x1A, 0xFF}
	grey      = color.NRGBA{0x66, 0x66, 0x66, 0xFF}
	faint     = color.NRGBA{0xB8, 0xB8, 0xB8, 0xFF}
	rule      = color.NRGBA{0xE2, 0xE2, 0xE2, 0xFF}
	white     = color.NRGBA{0xFF, 0xFF, 0xFF, 0xFF}
	stillness = color.NRGBA{0xCE, 0xCE, 0xD4, 0xFF} // a process that is paused or down
	red       = color.NRGBA{0xC8, 0x00, 0x1E, 0xFF} // a violation
	calm      = color.NRGBA{0x00, 0x6B, 0x4F, 0xFF} // the verdict SAFE
	doubt     = color.NRGBA{0x8A, 0x5A, 0x00, 0xFF} // the verdict UNKNOWN
)

// tint mixes a colour with white: share 1 is the colour itself, 0 is white.
func tint(c color.NRGBA, share float64) color.NRGBA {
	mix := func(v uint8) uint8 { return uint8(255 - share*float64(255-v) + 0.5) }
	return color.NRGBA{mix(c.R), mix(c.G), mix(c.B), c.A}
}

// faded makes a colour translucent.
func faded(c color.NRGBA, alpha uint8) color.NRGBA {
	c.A = alpha
	return c
}

// A cast gives each client of a history its look, by its number.
type cast []string

// look returns the look of a client. If there are more clients than colours, colours are reused with other patterns. All other
// processes are black.
func (c cast) look(client string) look {
	i := slices.Index(c, client)
	if i < 0 {
		return look{black, level}
	}
	n := len(looks)
	return look{looks[i%n].ink, looks[(i+i/n)%n].pattern}
}

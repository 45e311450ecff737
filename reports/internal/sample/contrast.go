package sample

import (
	"fmt"
	"math"
	"regexp"
	"testing"
)

// A Theme has the luminance of each colour of a style sheet, by its name.
type Theme map[string]float64

// Themes returns the two themes of a style sheet.
func Themes(t *testing.T, style string) []Theme {
	t.Helper()
	var themes []Theme
	for _, root := range regexp.MustCompile(`(?s):root[^{]*\{(.*?)\}`).FindAllStringSubmatch(style, -1) {
		theme := Theme{}
		for _, m := range regexp.MustCompile(`--(\w+): #([0-9a-f]{6});`).FindAllStringSubmatch(root[1], -1) {
			theme[m[1]] = Luminance(t, m[2])
		}
		themes = append(themes, theme)
	}
	if len(themes) != 2 {
		t.Fatalf("%d themes", len(themes))
	}
	return themes
}

// Contrast is the contrast of two colours of a theme.
func (c Theme) Contrast(t *testing.T, text, ground string) float64 {
	t.Helper()
	for _, name := range []string{text, ground} {
		if _, ok := c[name]; !ok {
			t.Fatalf("the theme has no colour %s", name)
		}
	}
	return Contrast(c[text], c[ground])
}

// Contrast is the contrast of two luminances (WCAG 2.2).
func Contrast(a, b float64) float64 { return (max(a, b) + 0.05) / (min(a, b) + 0.05) }

// Luminance is the relative luminance of a colour (WCAG 2.2).
func Luminance(t *testing.T, hex string) float64 {
	var sum float64
	for i, share := range []float64{0.2126, 0.7152, 0.0722} {
		var v int
		if _, err := fmt.Sscanf(hex[2*i:2*i+2], "%x", &v); err != nil {
			t.Fatal(err)
		}
		c := float64(v) / 255
		if c <= 0.04045 {
			c /= 12.92
		} else {
			c = math.Pow((c+0.055)/1.055, 2.4)
		}
		sum += share * c
	}
	return sum
}

package history

import (
	"fmt"
	"regexp"
	"strings"
	"time"
)

// Limits for parsing. They are far beyond what a run needs, and keep sums of a few of them from overflowing.
const (
	MaxDuration = 8760 * time.Hour // a year
	MaxDriftPPM = 999_999          // at -1 000 000 ppm a clock would stand still
)

// FormatDuration prints d as a whole number of the largest unit, up to seconds, that leaves no fraction: 15s, 1500ms, 90s. So
// each duration has one form in scenario files, which is easy to read.
func FormatDuration(d time.Duration) string {
	switch {
	case d%time.Second == 0:
		return fmt.Sprintf("%ds", d/time.Second)
	case d%time.Millisecond == 0:
		return fmt.Sprintf("%dms", d/time.Millisecond)
	case d%time.Microsecond == 0:
		return fmt.Sprintf("%dµs", d/time.Microsecond)
	default:
		return fmt.Sprintf("%dns", int64(d))
	}
}

// durationForm is what [time.ParseDuration] accepts. What has this form and is refused nevertheless is longer than 292 years.
var durationForm = regexp.MustCompile(`^[+-]?([0-9]+(\.[0-9]*)?(ns|us|µs|μs|ms|s|m|h))+$`)

func tooLong(s string) error {
	return fmt.Errorf("duration %s is too long; the limit is %dh", s, MaxDuration/time.Hour)
}

// ParseDuration parses a duration in any form that [time.ParseDuration] accepts, so it is an inverse of [FormatDuration].
func ParseDuration(s string) (time.Duration, error) {
	d, err := time.ParseDuration(s)
	if err != nil && durationForm.MatchString(s) {
		return 0, tooLong(s)
	}
	if err != nil {
		return 0, fmt.Errorf("%q must be a duration such as 15s, 1500ms or 2m", s)
	}
	return d, nil
}

// ParseSpan parses a duration from 0s to [MaxDuration].
func ParseSpan(s string) (time.Duration, error) {
	d, err := ParseDuration(s)
	switch {
	case err != nil:
		return 0, err
	case d < 0:
		return 0, fmt.Errorf("duration %s is negative; write 0s or more", s)
	case d > MaxDuration:
		return 0, tooLong(s)
	}
	return d, nil
}

// ParsePositive parses a duration above 0s, up to [MaxDuration].
func ParsePositive(s string) (time.Duration, error) {
	if d, err := ParseDuration(s); err == nil && d <= 0 {
		return 0, fmt.Errorf("duration %s is too short; write more than 0s", s)
	}
	return ParseSpan(s)
}

// parseSigned parses a duration with a sign, which is never 0s. The sign is required, because a correction without one is
// ambiguous.
func parseSigned(s string) (time.Duration, error) {
	if !signed(s) {
		return 0, fmt.Errorf("%[1]q has no sign; write +%[1]s for forward or -%[1]s for back", s)
	}
	d, err := ParsePositive(s[1:])
	if s[0] == '-' {
		d = -d
	}
	return d, err
}

func formatSigned(d time.Duration) string {
	if d < 0 {
		return FormatDuration(d)
	}
	return "+" + FormatDuration(d)
}

func signed(s string) bool { return strings.HasPrefix(s, "+") || strings.HasPrefix(s, "-") }

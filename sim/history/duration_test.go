package history_test

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"lockstep/sim/history"
)

func TestFormatDuration(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0:                                        "0s",
		15 * time.Second:                         "15s",
		90 * time.Second:                         "90s",
		time.Hour:                                "3600s",
		1500 * time.Millisecond:                  "1500ms",
		-1500 * time.Millisecond:                 "-1500ms",
		1500 * time.Microsecond:                  "1500µs",
		time.Second + 1:                          "1000000001ns",
		math.MinInt64:                            "-9223372036854775808ns",
		math.MaxInt64:                            "9223372036854775807ns",
		history.MaxDuration:                      "31536000s",
		-history.MaxDuration + time.Microsecond:  "-31535999999999µs",
		-history.MaxDuration + 2*time.Nanosecond: "-31535999999999998ns",
	} {
		if got := history.FormatDuration(d); got != want {
			t.Errorf("FormatDuration(%v) = %q, want %q", d, got, want)
		}
	}
}

func TestDurationRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		unit := rapid.SampledFrom([]int64{1, 1e3, 1e6, 1e9, 60e9}).Draw(t, "unit")
		want := time.Duration(rapid.Int64Range(math.MinInt64/unit, math.MaxInt64/unit).Draw(t, "count") * unit)
		got, err := history.ParseDuration(history.FormatDuration(want))
		if err != nil || got != want {
			t.Fatalf("ParseDuration(%q) = %v, %v, want %v", history.FormatDuration(want), got, err, want)
		}
	})
}

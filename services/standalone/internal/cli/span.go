package cli

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"
)

// spanValue is a flag's duration. Its text may have days: "7d" is seven times 24 hours.
type spanValue time.Duration

// spanVar adds a flag for a duration.
func spanVar(flags *pflag.FlagSet, to *time.Duration, name string, standard time.Duration, usage string) {
	*to = standard
	flags.Var((*spanValue)(to), name, usage)
}

// spanFlag is spanVar with a variable of its own.
func spanFlag(flags *pflag.FlagSet, name, usage string) *time.Duration {
	to := new(time.Duration)
	spanVar(flags, to, name, 0, usage)
	return to
}

// String implements pflag.Value.
func (s *spanValue) String() string { return time.Duration(*s).String() }

// Type implements pflag.Value.
func (s *spanValue) Type() string { return "duration" }

// Set implements pflag.Value.
func (s *spanValue) Set(text string) error {
	d, err := durationOf(text)
	*s = spanValue(d)
	return err
}

// maxDays is the number of days that a duration can have.
const maxDays = float64(math.MaxInt64 / (24 * time.Hour))

// durationOf reads a duration, which may be a number of days.
func durationOf(text string) (d time.Duration, err error) {
	if days, ok := strings.CutSuffix(text, "d"); ok {
		var n float64
		n, err = strconv.ParseFloat(days, 64)
		if !(math.Abs(n) <= maxDays) { // NaN too.
			err = strconv.ErrRange
		}
		d = time.Duration(n * float64(24*time.Hour))
	} else {
		d, err = time.ParseDuration(text)
	}
	if err != nil {
		return 0, fmt.Errorf("%q is not a time range such as 30m, 24h or 7d", text)
	}
	return d, nil
}

// timeOf reads the time of a flag.
func timeOf(flag, text string) (time.Time, error) {
	at, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return time.Time{}, fmt.Errorf("%w: --%s is like 2026-03-01T02:00:00Z, not %q", errArgument, flag, text)
	}
	return at, nil
}

// parseSpan reads a duration that must be positive.
func parseSpan(text string) (time.Duration, error) {
	d, err := durationOf(text)
	if err == nil && d <= 0 {
		err = fmt.Errorf("%q is not positive", text)
	}
	if err != nil {
		return 0, fmt.Errorf("%w: %w", errArgument, err)
	}
	return d, nil
}

package restjson

import (
	"math"
	"regexp"
	"strconv"
	"strings"
)

// maxDurationSeconds is the range of google.protobuf.Duration: about 10,000 years.
const maxDurationSeconds = 315_576_000_000

const microsPerSecond = 1_000_000

// AppendDuration appends a duration as seconds with microsecond precision. It returns false for an invalid duration.
func AppendDuration(dst []byte, seconds int64, nanos int32) ([]byte, bool) {
	if seconds < -maxDurationSeconds || seconds > maxDurationSeconds || nanos <= -1_000_000_000 || nanos >= 1_000_000_000 {
		return dst, false
	}
	// One division of whole microseconds: adding a fraction to the seconds would round twice.
	return AppendFloat(dst, float64(seconds*microsPerSecond+int64(nanos/1000))/microsPerSecond), true
}

// ParseDuration reads an ISO 8601 duration ("P1DT2H", "PT0.5S", "-PT1M"), or days and a time of the clock ("00:01:00",
// "1 day, 00:00:30.5"), and returns microseconds. A year counts 365 days and a month 30. A non-empty reason says what is wrong.
func ParseDuration(s string) (micros int64, reason string) {
	rest, negative := strings.CutPrefix(s, "-")
	if !negative {
		rest = strings.TrimPrefix(rest, "+")
	}
	if rest == "" {
		return 0, "input is too short"
	}
	if rest[0] == 'P' {
		micros, reason = parseISODuration(rest[1:])
	} else {
		micros, reason = parseClockDuration(rest)
	}
	if micros > maxDurationSeconds*microsPerSecond {
		return 0, "duration is too long"
	}
	if negative {
		micros = -micros
	}
	return micros, reason
}

// clockDuration are days, hours and minutes with optional seconds. Each part but the hours is optional on its own: days alone
// are a duration, too.
var clockDuration = regexp.MustCompile(`^(?:(\d{1,9}) ?[dD](?:ays?)?(?:,? ?|$))?(?:(\d{1,9}):([0-5]\d)(?::([0-5]\d(?:\.\d+)?))?)?$`)

func parseClockDuration(text string) (micros int64, reason string) {
	parts := clockDuration.FindStringSubmatch(text)
	if parts == nil {
		return 0, "invalid digit in duration"
	}
	for i, seconds := range []int64{86400, 3600, 60, 1} {
		if part := parts[i+1]; part != "" {
			n, ok := scaleDecimal(part, seconds)
			if !ok {
				return 0, "invalid digit in duration"
			}
			micros += n
		}
	}
	return micros, ""
}

// parseISODuration reads the part of a duration behind its P.
func parseISODuration(rest string) (micros int64, reason string) {
	inTime, parts := false, 0
	for rest != "" {
		if rest[0] == 'T' && !inTime {
			inTime, rest = true, rest[1:]
			continue
		}
		n := strings.IndexFunc(rest, func(r rune) bool { return (r < '0' || r > '9') && r != '.' && r != ',' })
		if n < 0 {
			return 0, "unexpected end of duration"
		}
		unit := durationUnit(rest[n], inTime)
		if unit == 0 {
			return 0, "invalid character in duration"
		}
		part, ok := scaleDecimal(rest[:n], unit)
		if !ok {
			return 0, "invalid digit in duration"
		}
		micros += part
		if micros > maxDurationSeconds*microsPerSecond {
			return 0, "duration is too long"
		}
		rest = rest[n+1:]
		parts++
	}
	if parts == 0 {
		return 0, "input is too short"
	}
	return micros, ""
}

// durationUnit returns the seconds of a designator, or 0 if it is unknown.
func durationUnit(c byte, inTime bool) int64 {
	const day = 86400
	if inTime {
		switch c {
		case 'H':
			return 3600
		case 'M':
			return 60
		case 'S':
			return 1
		}
		return 0
	}
	switch c {
	case 'Y':
		return 365 * day
	case 'M':
		return 30 * day
	case 'W':
		return 7 * day
	case 'D':
		return day
	}
	return 0
}

// scaleDecimal returns the microseconds of a decimal number of units, rounded. It returns false for text that is not a number
// or is too large.
func scaleDecimal(text string, unit int64) (int64, bool) {
	whole, fraction, found := strings.Cut(strings.ReplaceAll(text, ",", "."), ".")
	n, err := strconv.ParseInt(whole, 10, 64)
	if err != nil || n > maxDurationSeconds/unit {
		return 0, false
	}
	micros := n * unit * microsPerSecond
	if !found {
		return micros, true
	}
	x, err := strconv.ParseFloat("0."+fraction, 64)
	if err != nil || strings.Contains(fraction, ".") || fraction == "" {
		return 0, false
	}
	return micros + int64(math.Round(x*float64(unit)*microsPerSecond)), true
}

// secondsToMicros rounds seconds to microseconds. It returns false beyond the range of a duration.
func secondsToMicros(x float64) (int64, bool) {
	if math.IsNaN(x) || math.Abs(x) > maxDurationSeconds {
		return 0, false
	}
	whole, fraction := math.Modf(x)
	return int64(whole)*microsPerSecond + int64(math.Round(fraction*microsPerSecond)), true
}

// durationText formats a duration as pydantic does in its messages: "1 day, 2 hours and 3 seconds".
func durationText(seconds float64) string {
	micros, _ := secondsToMicros(seconds)
	var parts []string
	for _, u := range []struct {
		name   string
		micros int64
	}{{"day", 86400 * microsPerSecond}, {"hour", 3600 * microsPerSecond}, {"minute", 60 * microsPerSecond}, {"second", microsPerSecond}, {"microsecond", 1}} {
		n := micros / u.micros
		micros %= u.micros
		if n == 0 {
			continue
		}
		name := u.name
		if n != 1 {
			name += "s"
		}
		parts = append(parts, strconv.FormatInt(n, 10)+" "+name)
	}
	switch len(parts) {
	case 0:
		return "0 seconds"
	case 1:
		return parts[0]
	}
	return strings.Join(parts[:len(parts)-1], ", ") + " and " + parts[len(parts)-1]
}

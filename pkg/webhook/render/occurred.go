package render

import (
	"encoding/json"
	"math"
	"math/big"
	"strings"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/orch-project/orch/pkg/jsontree"
	"github.com/orch-project/orch/pkg/restjson"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// millisecondsFrom is the smallest number that means milliseconds instead of seconds: the year 2603 or, in
// milliseconds, August 1970.
const millisecondsFrom = 20_000_000_000

// The years 1600 and 10000 in seconds since 1970: numbers outside are not times.
const (
	firstSecond = -11_676_096_000
	lastSecond  = 253_402_300_799
)

// maxNumber bounds the length of a number that may be a time, and so the cost of parsing it.
const maxNumber = 40

// readOccurred leaves occurred nil if it is missing or null. It accepts RFC 3339 with variations: a space for the T, no
// seconds, no offset (then UTC), or the date alone. It also accepts a number, optionally as text, of seconds or
// milliseconds since 1970.
func readOccurred(object *jsontree.Object, e *orchv1.ReceivedEvent) error {
	v, _ := object.Get("occurred")
	var number string
	switch v := v.(type) {
	case nil:
		return nil
	case json.Number:
		number = string(v)
	case string:
		if decimal(v) {
			number = v
			break
		}
		text := v
		if len(text) > 10 && text[10] == '_' {
			text = text[:10] + "T" + text[11:]
		}
		seconds, nanos, reason := restjson.ParseTimestamp(text)
		if reason != "" {
			return invalid("occurred must be a time: %s", reason)
		}
		e.Occurred = &timestamppb.Timestamp{Seconds: seconds, Nanos: nanos}
		return nil
	default:
		return invalid("occurred must be a time, not %s", jsontree.TypeName(v))
	}
	at, ok := unixTime(number)
	if !ok {
		return invalid("occurred must be a time: the number is out of range")
	}
	e.Occurred = at
	return nil
}

// decimal reports whether a text is a decimal number: digits, optionally with a sign and a fraction.
func decimal(s string) bool {
	s = strings.TrimLeft(s[:min(1, len(s))], "+-") + s[min(1, len(s)):]
	whole, fraction, dot := strings.Cut(s, ".")
	return onlyDigits(whole) && whole != "" && (!dot || onlyDigits(fraction))
}

func onlyDigits(s string) bool { return strings.Trim(s, "0123456789") == "" }

// unixTime converts a number of seconds or milliseconds, to the microsecond.
func unixTime(text string) (*timestamppb.Timestamp, bool) {
	if len(text) > maxNumber {
		return nil, false
	}
	f, _, err := big.ParseFloat(text, 10, 128, big.ToNearestEven)
	if err != nil {
		return nil, false
	}
	if approximate, _ := f.Float64(); math.Abs(approximate) > 1000*lastSecond {
		return nil, false
	}
	scale := float64(1e6)
	if new(big.Float).Abs(f).Cmp(big.NewFloat(millisecondsFrom)) > 0 {
		scale = 1e3
	}
	f.Mul(f, big.NewFloat(scale))
	half := 0.5
	if f.Sign() < 0 {
		half = -0.5
	}
	micros, _ := f.Add(f, big.NewFloat(half)).Int64()
	seconds, rest := micros/1e6, micros%1e6
	if rest < 0 {
		seconds, rest = seconds-1, rest+1e6
	}
	if seconds < firstSecond || seconds > lastSecond {
		return nil, false
	}
	return &timestamppb.Timestamp{Seconds: seconds, Nanos: int32(rest) * 1000}, true
}

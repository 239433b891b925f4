package schedule

import (
	"fmt"
	"strings"
	"sync"
	"time"
)

// zones caches the locations that were loaded; there are a few hundred names.
var zones sync.Map

// Zone loads a time zone by its IANA name, case-sensitively. The machine's own zone has no name here.
func Zone(name string) (*time.Location, error) {
	if cached, ok := zones.Load(name); ok {
		return cached.(*time.Location), nil
	}
	invalid := name == "" || name == "Local" || name == "localtime" || name == "posixrules" || name == "Factory" ||
		strings.HasPrefix(name, "posix/") || strings.HasPrefix(name, "right/")
	if !invalid {
		if zone, err := time.LoadLocation(name); err == nil {
			zones.Store(name, zone)
			return zone, nil
		}
	}
	return nil, fmt.Errorf("%w: Invalid timezone: %q (specify in IANA tzdata format, for example, America/New_York)", ErrInvalid, name)
}

// wall returns the local date and time of an instant, as if it were one in UTC.
func wall(t time.Time, zone *time.Location) time.Time {
	if zone == time.UTC {
		return t.UTC()
	}
	return t.UTC().Add(offset(t, zone))
}

// gap says what becomes of a local time that a clock change skips.
type gap bool

const (
	later gap = true // By the length of the gap.
	// earlier, by the length of the gap, if the gap begins daylight saving time; else later.
	earlier gap = false
)

// margin is more than any zone differs from UTC, and less than the time between two clock changes.
const margin = 25 * time.Hour

// instant returns when a zone's clocks show a local time, the first time if they show it twice.
func instant(local time.Time, zone *time.Location, skipped gap) time.Time {
	if zone == time.UTC {
		return local
	}
	before, after := offset(local.Add(-margin), zone), offset(local.Add(margin), zone)
	first, second := local.Add(-before), local.Add(-after)
	switch {
	case before == after:
		return first.In(zone)
	case offset(first, zone) == before && (before > after || offset(second, zone) != after):
		return first.In(zone)
	case offset(second, zone) == after:
		return second.In(zone)
	case skipped == later || !local.Add(margin).In(zone).IsDST(): // The clock went forward, so the old offset gives the later instant.
		return first.In(zone)
	default:
		return second.In(zone)
	}
}

// skippedBefore is the length of the gap that ended before an instant, if a skipped local time may still be due from then on.
func skippedBefore(t time.Time, zone *time.Location) time.Duration {
	end, _ := t.In(zone).ZoneBounds()
	if end.IsZero() {
		return 0
	}
	length := offset(end, zone) - offset(end.Add(-1), zone)
	if t.Sub(end) >= length {
		return 0
	}
	return length
}

// offset is how far a zone's clocks are ahead of UTC at an instant.
func offset(t time.Time, zone *time.Location) time.Duration {
	_, seconds := t.In(zone).Zone()
	return time.Duration(seconds) * time.Second
}

// distinct is the set of instants that a sequence has yielded; two local times may be one instant where one is skipped.
type distinct map[int64]struct{}

// add reports whether an instant is new to the set.
func (d distinct) add(t time.Time) bool {
	_, ok := d[t.UnixMicro()]
	d[t.UnixMicro()] = struct{}{}
	return !ok
}

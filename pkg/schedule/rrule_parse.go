package schedule

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// maxRRule bounds the length of a recurrence rule, in characters.
const maxRRule = 6500

// DefaultStart is the local time at which rules without DTSTART begin.
var DefaultStart = time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)

// ParseRRule reads recurrence rules of RFC 5545: one rule, or lines of DTSTART, RRULE, RDATE, EXRULE and EXDATE. All dates
// are local to the zone given here, whatever zone they name. UNTIL must name one if DTSTART does, and none if DTSTART does
// not; without DTSTART both forms are valid.
func ParseRRule(text string, zone *time.Location) (*RRule, error) {
	invalid := func(reason error) error {
		return fmt.Errorf("%w: Invalid RRule string %q: %w", ErrInvalid, text, reason)
	}
	if len([]rune(text)) > maxRRule {
		return nil, fmt.Errorf("%w: Invalid RRule string %q: longer than %d characters", ErrInvalid, text[:40]+"…", maxRRule)
	}
	p := &ruleParser{start: localTime{at: DefaultStart}}
	lines := strings.Fields(text)
	if len(lines) == 0 {
		return nil, invalid(errors.New("empty string"))
	}
	for _, line := range lines {
		if err := p.line(line); err != nil {
			return nil, invalid(err)
		}
	}
	set, err := p.set()
	if err != nil {
		return nil, invalid(err)
	}
	set.text, set.zone = text, zone
	return set, nil
}

// HasStart reports whether a rule names the time at which it begins.
func HasStart(text string) bool {
	return slices.ContainsFunc(strings.Fields(strings.ToUpper(text)), func(line string) bool {
		return strings.HasPrefix(line, "DTSTART:") || strings.HasPrefix(line, "DTSTART;")
	})
}

// localTime is a date as it was written: its wall clock, and whether it named a zone.
type localTime struct {
	at    time.Time
	zoned bool
}

type ruleParser struct {
	start                          localTime
	started                        bool // The text has a DTSTART.
	rules, dates, except, excluded []string
}

// line reads one property. Only names of zones are case-sensitive.
func (p *ruleParser) line(written string) error {
	line := strings.ToUpper(written)
	name, value, ok := strings.Cut(line, ":")
	if !ok {
		name, value = "RRULE", line
	}
	parts := strings.Split(name, ";")
	name, params := parts[0], parts[1:]
	unsupported := func(allowed func(string) bool) error {
		for _, param := range params {
			if !allowed(param) {
				return fmt.Errorf("unsupported %s parm: %s", name, param)
			}
		}
		return nil
	}
	none := func(string) bool { return false }
	dateTime := func(param string) bool { return param == "VALUE=DATE-TIME" }
	inZone := func(param string) bool { return dateTime(param) || strings.HasPrefix(param, "TZID=") }
	switch name {
	case "RRULE":
		p.rules = append(p.rules, value)
		return unsupported(none)
	case "EXRULE":
		p.except = append(p.except, value)
		return unsupported(none)
	case "RDATE":
		p.dates = append(p.dates, value)
		return unsupported(dateTime)
	case "EXDATE":
		p.excluded = append(p.excluded, value)
		return unsupported(inZone)
	case "DTSTART":
		start, err := parseLocal(value)
		if err != nil {
			return err
		}
		if zone, named := zoneOf(written); named {
			if start.zoned {
				return errors.New("DTSTART/EXDATE specifies multiple timezone")
			}
			// A zone that nobody knows counts as none.
			_, err := Zone(zone)
			start.zoned = err == nil
		}
		p.start, p.started = start, true
		return unsupported(inZone)
	default:
		return fmt.Errorf("unsupported property: %s", name)
	}
}

// zoneOf is the value of a property's TZID.
func zoneOf(line string) (string, bool) {
	head, _, _ := strings.Cut(line, ":")
	for param := range strings.SplitSeq(head, ";") {
		if len(param) > 5 && strings.EqualFold(param[:5], "TZID=") {
			return param[5:], true
		}
	}
	return "", false
}

func (p *ruleParser) set() (*RRule, error) {
	set := &RRule{excluded: map[time.Time]bool{}}
	if len(p.rules)+len(p.dates)+len(p.except)+len(p.excluded) == 0 {
		return nil, errors.New("no rule and no date")
	}
	for _, text := range p.rules {
		rule, err := p.rule(text)
		if err != nil {
			return nil, err
		}
		set.rules = append(set.rules, rule)
	}
	for _, text := range p.except {
		rule, err := p.rule(text)
		if err != nil {
			return nil, err
		}
		set.except = append(set.except, rule)
	}
	for _, text := range p.dates {
		for date := range strings.SplitSeq(text, ",") {
			d, err := parseLocal(date)
			if err != nil {
				return nil, err
			}
			set.dates = append(set.dates, d.at)
		}
	}
	set.dates = sortedDates(set.dates)
	for _, text := range p.excluded {
		for date := range strings.SplitSeq(text, ",") {
			d, err := parseLocal(date)
			if err != nil {
				return nil, err
			}
			set.excluded[d.at] = true
		}
	}
	return set, nil
}

var frequencies = map[string]frequency{
	"YEARLY": yearly, "MONTHLY": monthly, "WEEKLY": weekly, "DAILY": daily, "HOURLY": hourly, "MINUTELY": minutely, "SECONDLY": secondly,
}

var weekdayNames = map[string]int{"MO": 0, "TU": 1, "WE": 2, "TH": 3, "FR": 4, "SA": 5, "SU": 6}

// rule reads the parameters of one rule.
func (p *ruleParser) rule(text string) (*recurrence, error) {
	r := &recurrence{freq: -1, interval: 1, start: p.start.at}
	for pair := range strings.SplitSeq(text, ";") {
		name, value, ok := strings.Cut(pair, "=")
		if !ok || strings.Contains(value, "=") {
			return nil, fmt.Errorf("%q is not NAME=VALUE", pair)
		}
		if err := p.parameter(r, name, value); err != nil {
			return nil, err
		}
	}
	if r.freq < 0 {
		return nil, errors.New("FREQ is missing")
	}
	if err := r.check(); err != nil {
		return nil, err
	}
	r.complete()
	return r, nil
}

func (p *ruleParser) parameter(r *recurrence, name, value string) error {
	lists := map[string]*[]int{
		"BYSETPOS": &r.setpos, "BYMONTH": &r.months, "BYMONTHDAY": &r.monthDays, "BYYEARDAY": &r.yearDays, "BYEASTER": &r.easter,
		"BYWEEKNO": &r.weekNumber, "BYHOUR": &r.hours, "BYMINUTE": &r.minutes, "BYSECOND": &r.seconds,
	}
	invalid := fmt.Errorf("invalid '%s': %s", name, value)
	ok := true
	var err error
	switch name {
	case "FREQ":
		if r.freq, ok = frequencies[value]; !ok {
			return invalid
		}
	case "INTERVAL":
		r.interval, err = strconv.Atoi(value)
	case "COUNT":
		r.count, err = strconv.Atoi(value)
		r.counted = true
	case "WKST":
		r.wkst, ok = weekdayNames[value]
	case "UNTIL":
		var until localTime
		if until, err = parseLocal(value); err != nil {
			return fmt.Errorf("invalid until date: %w", err)
		}
		if p.started && until.zoned != p.start.zoned {
			return errors.New("RRULE UNTIL values must be specified in UTC when DTSTART is timezone-aware")
		}
		r.until = until.at
	case "BYDAY", "BYWEEKDAY":
		for text := range strings.SplitSeq(value, ",") {
			if err := r.weekday(text); err != nil {
				return fmt.Errorf("%w: %w", invalid, err)
			}
		}
	default:
		list, exists := lists[name]
		if !exists {
			return fmt.Errorf("unknown parameter '%s'", name)
		}
		*list = (*list)[:0]
		for text := range strings.SplitSeq(value, ",") {
			n, err := strconv.Atoi(text)
			if err != nil {
				return invalid
			}
			*list = append(*list, n)
		}
	}
	if err != nil || !ok {
		return invalid
	}
	return nil
}

// weekday reads MO, 1MO, -1MO or MO(-1). Numbers mean nothing below a month.
func (r *recurrence) weekday(text string) error {
	name, n := text, ""
	if before, number, ok := strings.Cut(text, "("); ok {
		name, n = before, strings.TrimSuffix(number, ")")
	} else if at := strings.IndexFunc(text, func(c rune) bool { return !strings.ContainsRune("+-0123456789", c) }); at > 0 {
		name, n = text[at:], text[:at]
	}
	day, ok := weekdayNames[name]
	if !ok {
		return fmt.Errorf("%q is not a weekday", name)
	}
	if n == "" {
		r.weekdays = append(r.weekdays, day)
		return nil
	}
	count, err := strconv.Atoi(n)
	if err != nil || count == 0 {
		return fmt.Errorf("%q is not the number of a weekday", n)
	}
	// Whether the number counts is known once all of the rule is read.
	r.nth = append(r.nth, weekdayNumber{day, count})
	return nil
}

// check refuses rules that mean nothing or never end.
func (r *recurrence) check() error {
	if r.interval <= 0 {
		return fmt.Errorf("INTERVAL must be positive, got %d", r.interval)
	}
	if r.interval > 1_000_000_000 {
		return fmt.Errorf("INTERVAL must be at most a billion, got %d", r.interval)
	}
	for _, pos := range r.setpos {
		if pos == 0 || pos < -366 || pos > 366 {
			return errors.New("bysetpos must be between 1 and 366, or between -366 and -1")
		}
	}
	if r.freq > monthly {
		for _, w := range r.nth {
			r.weekdays = append(r.weekdays, w.weekday)
		}
		r.nth = nil
	}
	for _, field := range []struct {
		values *[]int
		name   string
		size   int
		start  int
		freq   frequency
	}{
		{&r.hours, "hour", 24, r.start.Hour(), hourly},
		{&r.minutes, "minute", 60, r.start.Minute(), minutely},
		{&r.seconds, "second", 60, r.start.Second(), secondly},
	} {
		for _, v := range *field.values {
			if v < 0 || v >= field.size {
				return fmt.Errorf("%s must be in 0..%d", field.name, field.size-1)
			}
		}
		if r.freq == field.freq && *field.values != nil {
			// Steps of the interval reach only some of the values.
			step := gcd(r.interval, field.size)
			*field.values = slices.DeleteFunc(*field.values, func(v int) bool { return (v-field.start)%step != 0 })
			if len(*field.values) == 0 {
				return errors.New("Invalid rrule byxxx generates an empty set.") //nolint:revive,staticcheck // Clients know this text.
			}
		}
	}
	return r.checkReach()
}

// checkReach refuses numbers of days that no calendar has.
func (r *recurrence) checkReach() error {
	for _, field := range []struct {
		name   string
		values []int
		max    int
		signed bool
	}{{"BYMONTH", r.months, 12, false}, {"BYMONTHDAY", r.monthDays, 31, true}, {"BYYEARDAY", r.yearDays, 366, true}} {
		reachable := func(v int) bool { return v >= 1 && v <= field.max || field.signed && v <= -1 && v >= -field.max }
		if field.values != nil && !slices.ContainsFunc(field.values, reachable) {
			return fmt.Errorf("%s names no day of any year", field.name)
		}
	}
	return nil
}

func gcd(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// layouts are the forms of dates, in local time.
var layouts = []string{
	"20060102T150405", "20060102T1504", "20060102", "2006-01-02T15:04:05", "2006-01-02T15:04", "2006-01-02", "20060102150405",
}

// parseLocal reads a date with its wall clock; a zone is noticed and dropped.
func parseLocal(text string) (localTime, error) {
	for _, layout := range layouts {
		for _, zone := range []string{"", "Z0700", "Z07:00"} {
			t, err := time.Parse(layout+zone, text)
			if err != nil {
				continue
			}
			year, month, day := t.Date()
			at := time.Date(year, month, day, t.Hour(), t.Minute(), t.Second(), 0, time.UTC)
			return localTime{at: at, zoned: zone != ""}, nil
		}
	}
	return localTime{}, fmt.Errorf("%q is not a date", text)
}

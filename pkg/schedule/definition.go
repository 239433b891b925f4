package schedule

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"
)

// Definition is a schedule as JSON states it; the key that is present chooses the kind:
//
//	{"interval": seconds | "PT1H" | "01:30:00", "anchor_date": time, "timezone": zone}
//	{"cron": "0 9 * * 1-5", "timezone": zone, "day_or": true}
//	{"rrule": "FREQ=DAILY", "timezone": zone}
//
// It reads the looser forms of values that clients of the reference send beside those of the REST API.
type Definition map[string]json.RawMessage

// ParseDefinition reads a schedule. Without an anchor, an interval is counted from the time given here.
func ParseDefinition(text []byte, now time.Time) (Schedule, error) {
	var d Definition
	decoder := json.NewDecoder(bytes.NewReader(text))
	if err := decoder.Decode(&d); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%w: more than one JSON value", ErrInvalid)
	}
	for _, kind := range []struct {
		key    string
		others []string
		read   func(now time.Time) (Schedule, error)
	}{
		{"interval", []string{"anchor_date", "timezone"}, d.interval},
		{"cron", []string{"timezone", "day_or"}, d.cron},
		{"rrule", []string{"timezone"}, d.rrule},
	} {
		if _, ok := d[kind.key]; !ok {
			continue
		}
		allowed := map[string]bool{kind.key: true}
		for _, key := range kind.others {
			allowed[key] = true
		}
		for key := range d {
			if !allowed[key] {
				return nil, fmt.Errorf("%w: %s: Extra inputs are not permitted", ErrInvalid, key)
			}
		}
		return kind.read(now)
	}
	return nil, fmt.Errorf("%w: Field required", ErrInvalid)
}

func (d Definition) interval(now time.Time) (Schedule, error) {
	every, err := parseInterval(d["interval"])
	if err != nil {
		return nil, err
	}
	anchor := now
	if raw := d["anchor_date"]; raw != nil {
		if anchor, err = parseTime(raw); err != nil {
			return nil, err
		}
	}
	zone, err := d.zone(true)
	if err != nil {
		return nil, err
	}
	return NewInterval(every, anchor, zone)
}

func (d Definition) cron(time.Time) (Schedule, error) {
	text, err := d.text("cron")
	if err != nil {
		return nil, err
	}
	zone, err := d.zone(true)
	if err != nil {
		return nil, err
	}
	dayOr := true
	if raw := d["day_or"]; raw != nil {
		switch strings.ToLower(strings.Trim(string(raw), `"`)) {
		case "true", "1", "yes", "y", "on", "t":
		case "false", "0", "no", "n", "off", "f":
			dayOr = false
		default:
			return nil, fmt.Errorf("%w: day_or: Input should be a valid boolean", ErrInvalid)
		}
	}
	return ParseCron(text, zone, dayOr)
}

func (d Definition) rrule(time.Time) (Schedule, error) {
	text, err := d.text("rrule")
	if err != nil {
		return nil, err
	}
	zone, err := d.zone(false)
	if err != nil {
		return nil, err
	}
	return ParseRRule(text, zone)
}

func (d Definition) text(key string) (string, error) {
	var text *string
	if err := json.Unmarshal(d[key], &text); err != nil || text == nil {
		return "", fmt.Errorf("%w: %s: Input should be a valid string", ErrInvalid, key)
	}
	return *text, nil
}

func (d Definition) zone(nullable bool) (*time.Location, error) {
	raw := d["timezone"]
	if raw == nil || nullable && string(raw) == "null" {
		return time.UTC, nil
	}
	name, err := d.text("timezone")
	if err != nil {
		return nil, err
	}
	return Zone(name)
}

// parseInterval reads a duration in microseconds.
func parseInterval(raw json.RawMessage) (int64, error) {
	invalid := fmt.Errorf("%w: interval: Input should be a valid timedelta, got %s", ErrInvalid, raw)
	var value any
	if err := json.Unmarshal(raw, &value); err != nil {
		return 0, invalid
	}
	switch v := value.(type) {
	case bool:
		if v {
			return 1_000_000, nil
		}
		return 0, nil
	case float64:
		if math.Abs(v) > float64(maxInterval)/1e6 {
			return 0, invalid
		}
		return int64(math.Round(v * 1e6)), nil
	case string:
		every, ok := parseDuration(v)
		if !ok {
			return 0, invalid
		}
		return every, nil
	default:
		return 0, invalid
	}
}

// parseDuration reads ISO 8601 without years and months, or "[D day[s], ]HH:MM[:SS[.ffffff]]", in microseconds.
func parseDuration(text string) (int64, bool) {
	sign := int64(1)
	if rest, negative := strings.CutPrefix(text, "-"); negative {
		sign, text = -1, rest
	}
	if rest, ok := strings.CutPrefix(text, "P"); ok {
		every, ok := parseISODuration(rest)
		return sign * every, ok
	}
	days := 0.0
	if before, after, ok := strings.Cut(text, "day"); ok {
		var err error
		if days, err = strconv.ParseFloat(strings.TrimSpace(before), 64); err != nil {
			return 0, false
		}
		text = strings.TrimLeft(strings.TrimPrefix(after, "s"), ", ")
	}
	total := days * 86400
	if text != "" {
		parts := strings.Split(text, ":")
		if len(parts) < 2 || len(parts) > 3 {
			return 0, false
		}
		for i, unit := range []float64{3600, 60, 1}[:len(parts)] {
			n, err := strconv.ParseFloat(parts[i], 64)
			if err != nil || n < 0 {
				return 0, false
			}
			total += n * unit
		}
	}
	if total > float64(maxInterval)/1e6 {
		return 0, false
	}
	return sign * int64(math.Round(total*1e6)), true
}

func parseISODuration(text string) (int64, bool) {
	date, clock, hasClock := strings.Cut(text, "T")
	total := 0.0
	read := func(part string, units map[byte]float64) bool {
		for part != "" {
			end := strings.IndexFunc(part, func(c rune) bool { return (c < '0' || c > '9') && c != '.' })
			if end <= 0 {
				return false
			}
			n, err := strconv.ParseFloat(part[:end], 64)
			unit, ok := units[part[end]]
			if err != nil || !ok {
				return false
			}
			total += n * unit
			part = part[end+1:]
		}
		return true
	}
	if !read(date, map[byte]float64{'W': 7 * 86400, 'D': 86400}) || !read(clock, map[byte]float64{'H': 3600, 'M': 60, 'S': 1}) {
		return 0, false
	}
	if text == "" || hasClock && clock == "" || total > float64(maxInterval)/1e6 {
		return 0, false
	}
	return int64(math.Round(total * 1e6)), true
}

// parseTime reads RFC 3339 in its usual variants, a date, or seconds since 1970. Without a zone it is UTC.
func parseTime(raw json.RawMessage) (time.Time, error) {
	invalid := fmt.Errorf("%w: anchor_date: Unable to parse %s", ErrInvalid, raw)
	var value any
	if err := json.Unmarshal(raw, &value); err != nil {
		return time.Time{}, invalid
	}
	switch v := value.(type) {
	case float64:
		if math.Abs(v) > 253_402_300_799 {
			return time.Time{}, invalid
		}
		return time.UnixMicro(int64(math.Round(v * 1e6))).UTC(), nil
	case string:
		return ParseTime(v)
	default:
		return time.Time{}, invalid
	}
}

// ParseTime reads RFC 3339 with a blank or a T, with or without seconds, zone and time. Without a zone it is UTC.
func ParseTime(text string) (time.Time, error) {
	normal := strings.Replace(text, " ", "T", 1)
	for _, layout := range []string{"2006-01-02T15:04:05", "2006-01-02T15:04", "2006-01-02"} {
		for _, zone := range []string{"Z07:00", ""} {
			if t, err := time.Parse(layout+zone, normal); err == nil {
				return t.UTC().Truncate(time.Microsecond), nil
			}
		}
	}
	return time.Time{}, fmt.Errorf("%w: Unable to parse string [%s]", ErrInvalid, text)
}

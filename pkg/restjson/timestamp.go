package restjson

import (
	"time"
)

// The range of four-digit years, in seconds since 1970.
const (
	minSeconds = -62135596800 // 0001-01-01T00:00:00Z
	maxSeconds = 253402300799 // 9999-12-31T23:59:59Z
)

// AppendTimestamp appends a time as "2006-01-02T15:04:05.123456Z", without a fraction if its microseconds are 0. It returns
// false if the year has more than four digits or nanos is out of range.
func AppendTimestamp(dst []byte, seconds int64, nanos int32) ([]byte, bool) {
	if seconds < minSeconds || seconds > maxSeconds || nanos < 0 || nanos > 999_999_999 {
		return dst, false
	}
	t := time.Unix(seconds, 0).UTC()
	year, month, day := t.Date()
	hour, minute, second := t.Clock()
	dst = append(dst, '"')
	dst = appendDigits(dst, year, 1000)
	dst = append(dst, '-')
	dst = appendDigits(dst, int(month), 10)
	dst = append(dst, '-')
	dst = appendDigits(dst, day, 10)
	dst = append(dst, 'T')
	dst = appendDigits(dst, hour, 10)
	dst = append(dst, ':')
	dst = appendDigits(dst, minute, 10)
	dst = append(dst, ':')
	dst = appendDigits(dst, second, 10)
	if micros := int(nanos / 1000); micros != 0 {
		dst = append(dst, '.')
		dst = appendDigits(dst, micros, 100_000)
	}
	return append(dst, 'Z', '"'), true
}

// appendDigits appends n with as many digits as unit has.
func appendDigits(dst []byte, n, unit int) []byte {
	for ; unit > 0; unit /= 10 {
		dst = append(dst, byte('0'+n/unit%10))
	}
	return dst
}

// ParseTimestamp reads RFC 3339 and variants of it: a space for the T, an offset as ±hhmm or missing (UTC), a time without
// seconds, a date alone. It drops digits beyond microseconds. A non-empty reason says what is wrong.
func ParseTimestamp(s string) (seconds int64, nanos int32, reason string) {
	p := timeParser{s: s}
	year := p.digits(4, "year")
	p.byte('-')
	month := p.digits(2, "month")
	p.byte('-')
	day := p.digits(2, "day")
	p.between(month, 1, 12, "month value is outside expected range of 1-12")
	p.between(year, 1, 9999, "year is outside expected range of 1-9999")
	if p.reason == "" {
		p.between(day, 1, time.Date(year, time.Month(month)+1, 0, 0, 0, 0, 0, time.UTC).Day(), "day value is outside expected range")
	}
	var hour, minute, second, offset int
	if p.reason == "" && len(p.s) > 0 {
		if c := p.s[0]; c != 'T' && c != 't' && c != ' ' {
			return 0, 0, "invalid datetime separator, expected `T` or space"
		}
		p.s = p.s[1:]
		hour = p.digits(2, "hour")
		p.byte(':')
		minute = p.digits(2, "minute")
		p.between(hour, 0, 23, "hour value is outside expected range of 0-23")
		p.between(minute, 0, 59, "minute value is outside expected range of 0-59")
		if p.next(':') {
			second = p.digits(2, "second")
			p.between(second, 0, 59, "second value is outside expected range of 0-59")
			if p.next('.') || p.next(',') {
				nanos = p.fraction()
			}
		}
		offset = p.offset()
		if p.reason == "" && p.s != "" {
			p.reason = "unexpected extra characters at the end of the input"
		}
	}
	if p.reason != "" {
		return 0, 0, p.reason
	}
	seconds = time.Date(year, time.Month(month), day, hour, minute, second, 0, time.UTC).Unix() - int64(offset)
	if seconds < minSeconds || seconds > maxSeconds {
		return 0, 0, "year is outside expected range of 1-9999"
	}
	return seconds, nanos, ""
}

// timeParser takes parts off the front of s until the first error.
type timeParser struct {
	s      string
	reason string
}

func (p *timeParser) digits(n int, what string) (v int) {
	if p.reason != "" {
		return 0
	}
	if len(p.s) < n {
		p.reason = "input is too short"
		return 0
	}
	for i := range n {
		c := p.s[i]
		if c < '0' || c > '9' {
			p.reason = "invalid character in " + what
			return 0
		}
		v = v*10 + int(c-'0')
	}
	p.s = p.s[n:]
	return v
}

func (p *timeParser) byte(c byte) {
	switch {
	case p.reason != "":
	case p.s == "":
		p.reason = "input is too short"
	case p.s[0] != c:
		p.reason = "expected `" + string(rune(c)) + "`"
	default:
		p.s = p.s[1:]
	}
}

func (p *timeParser) next(c byte) bool {
	if p.reason != "" || p.s == "" || p.s[0] != c {
		return false
	}
	p.s = p.s[1:]
	return true
}

func (p *timeParser) between(v, low, high int, reason string) {
	if p.reason == "" && (v < low || v > high) {
		p.reason = reason
	}
}

// fraction returns nanoseconds, truncated to microseconds.
func (p *timeParser) fraction() (nanos int32) {
	n, unit := 0, int32(100_000_000)
	for ; n < len(p.s) && p.s[n] >= '0' && p.s[n] <= '9'; n++ {
		if unit >= 1000 {
			nanos += int32(p.s[n]-'0') * unit
			unit /= 10
		}
	}
	if n == 0 {
		p.reason = "second fraction is missing"
	}
	p.s = p.s[n:]
	return nanos
}

// offset returns the seconds east of UTC.
func (p *timeParser) offset() int {
	sign := 1
	switch {
	case p.reason != "" || p.s == "":
		return 0
	case p.next('Z') || p.next('z'):
		return 0
	case p.next('-'):
		sign = -1
	case p.next('+'):
	default:
		p.reason = "invalid timezone sign"
		return 0
	}
	hours := p.digits(2, "timezone")
	p.next(':')
	minutes := p.digits(2, "timezone")
	p.between(hours, 0, 23, "timezone offset must be less than 24 hours")
	p.between(minutes, 0, 59, "timezone minute value is outside expected range of 0-59")
	return sign * (hours*3600 + minutes*60)
}

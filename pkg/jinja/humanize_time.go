package jinja

import (
	"math"
	"math/big"
	"strconv"
	"strings"
	"time"
)

// deltaValue is a datetime.timedelta: days, and the microseconds of the last day.
type deltaValue struct{ days, micros int64 }

func (deltaValue) typeName() string { return "datetime.timedelta" }

const (
	microSecond = 1_000_000 // a second in microseconds
	microDay    = 86400 * microSecond
	// maxDeltaDays is the maximum of days in a timedelta.
	maxDeltaDays = 999_999_999
)

func (d deltaValue) abs() deltaValue {
	if d.days >= 0 {
		return d
	}
	return newDelta(-d.days, -d.micros)
}

// newDelta normalises the microseconds to one day.
func newDelta(days, micros int64) deltaValue {
	carry := floorDiv(micros, microDay)
	return deltaValue{days + carry, micros - carry*microDay}
}

// parts returns days, seconds of the day and microseconds of the second.
func (d deltaValue) parts() (days, secs, micros int64) {
	return d.days, d.micros / microSecond, d.micros % microSecond
}

// text is str() of a timedelta.
func (d deltaValue) text() string {
	days, secs, micros := d.parts()
	s := strconv.FormatInt(secs/3600, 10) + ":" + pad2(secs/60%60) + ":" + pad2(secs%60)
	if micros > 0 {
		m := strconv.FormatInt(micros, 10)
		s += "." + strings.Repeat("0", 6-len(m)) + m
	}
	switch days {
	case 0:
		return s
	case 1, -1:
		return strconv.FormatInt(days, 10) + " day, " + s
	}
	return strconv.FormatInt(days, 10) + " days, " + s
}

func (d deltaValue) repr() string {
	days, secs, micros := d.parts()
	var parts []string
	for i, n := range []int64{days, secs, micros} {
		if n != 0 {
			parts = append(parts, [...]string{"days", "seconds", "microseconds"}[i]+"="+strconv.FormatInt(n, 10))
		}
	}
	if parts == nil {
		parts = []string{"0"}
	}
	return "datetime.timedelta(" + strings.Join(parts, ", ") + ")"
}

func pad2(n int64) string {
	if n < 10 {
		return "0" + strconv.FormatInt(n, 10)
	}
	return strconv.FormatInt(n, 10)
}

// seconds makes a timedelta of a number of seconds, rounded to microseconds.
func seconds(v Value) (deltaValue, error) {
	tooLarge := func() error { return overflowErr("days out of range; must have magnitude <= %d", maxDeltaDays) }
	switch x := v.(type) {
	case intValue, boolValue, bigValue:
		n, _ := toBig(x)
		if n.CmpAbs(big.NewInt(maxDeltaDays*86400)) > 0 {
			return deltaValue{}, tooLarge()
		}
		days := floorDiv(n.Int64(), 86400)
		return deltaValue{days, (n.Int64() - days*86400) * microSecond}, nil
	case floatValue:
		f := float64(x)
		switch {
		case math.IsNaN(f):
			return deltaValue{}, valueErr("cannot convert float NaN to integer")
		case math.IsInf(f, 0):
			return deltaValue{}, overflowErr("cannot convert float infinity to integer")
		case math.Abs(f) > maxDeltaDays*86400:
			return deltaValue{}, tooLarge()
		}
		whole, frac := math.Modf(f)
		days := floorDiv(int64(whole), 86400)
		return newDelta(days, (int64(whole)-days*86400)*microSecond+int64(math.RoundToEven(frac*1e6))), nil
	}
	return deltaValue{}, typeErr("unsupported type for timedelta seconds component: %s", v.typeName())
}

// dateRange rejects a timedelta that leaves the years 1 to 9999 when subtracted from now.
func dateRange(d deltaValue) error {
	at := time.Now().Unix() - d.days*86400 - d.micros/microSecond
	if at < -62135596800 || at > 253402300799 {
		return overflowErr("date value out of range")
	}
	return nil
}

// delta converts a value to a positive timedelta. ok is false if the value is not a number.
func (rt *state) delta(v Value, precise bool) (d deltaValue, ok bool, err error) {
	if t, isDelta := v.(deltaValue); isDelta {
		return t.abs(), true, nil
	}
	n := v
	if !precise {
		n, err = rt.roundToInt(v)
	}
	if err == nil {
		d, err = seconds(n)
	}
	if err != nil {
		if isClass(err, classType, classValue) {
			return deltaValue{}, false, nil
		}
		return deltaValue{}, false, err
	}
	return d.abs(), true, dateRange(d)
}

func humanizeDateAndDelta(rt *state, args callArgs) (Value, error) {
	if len(args.pos) != 1 || len(args.kw) > 0 {
		return nil, typeErr("humanize_date_and_delta() takes 1 positional argument")
	}
	v := args.pos[0]
	d, ok, err := rt.delta(v, false)
	if err != nil {
		return nil, err
	}
	if !ok {
		return newTuple([]Value{None, v}), nil
	}
	return newTuple([]Value{strValue(time.Now().AddDate(0, 0, -int(d.days)).Add(-time.Duration(d.micros) * time.Microsecond).Format("2006-01-02 15:04:05.000000")), d}), nil
}

// timeUnit is a unit of time, from microseconds up.
type timeUnit int

const (
	unitMicroseconds timeUnit = iota
	unitMilliseconds
	unitSeconds
	unitMinutes
	unitHours
	unitDays
	unitMonths
	unitYears
	noUnit
)

var unitNames = [...]string{"microseconds", "milliseconds", "seconds", "minutes", "hours", "days", "months", "years"}

func parseUnit(v Value) (timeUnit, error) {
	s, ok := asText(v)
	if !ok {
		if u, isU := v.(*undefinedValue); isU {
			return 0, u.fail()
		}
		return 0, attributeErr("'%s' object has no attribute 'upper'", v.typeName())
	}
	for i, n := range unitNames {
		if upper(s) == strings.ToUpper(n) {
			return timeUnit(i), nil
		}
	}
	return 0, keyErr(reprStr(upper(s)))
}

func minimumUnit(v Value) (timeUnit, error) {
	u := unitSeconds
	if v != nil {
		var err error
		if u, err = parseUnit(v); err != nil {
			return 0, err
		}
	}
	if u > unitSeconds {
		return 0, valueErr("Minimum unit '%s' not supported", unitNames[u])
	}
	return u, nil
}

func humanizeDelta(rt *state, a []Value) (Value, error) {
	unit, err := minimumUnit(a[2])
	if err != nil {
		return nil, err
	}
	months, err := rt.flag(a[1], true)
	if err != nil {
		return nil, err
	}
	d, ok := a[0].(deltaValue)
	if !ok {
		if d, ok, err = rt.deltaSeconds(a[0]); err != nil {
			return nil, err
		}
	}
	if !ok {
		s, err := rt.str(a[0])
		return strValue(s), err
	}
	return strValue(naturalDelta(d.abs(), months, unit)), nil
}

// deltaSeconds reads a number or a str of an int as seconds.
func (rt *state) deltaSeconds(v Value) (deltaValue, bool, error) {
	_, err := toInt(rt, v, nil)
	var f float64
	var d deltaValue
	if err == nil {
		if f, err = rt.parseFloat(v); err == nil {
			d, err = seconds(floatValue(f))
		}
	}
	switch {
	case err == nil:
		return d, true, nil
	case isClass(err, classType, classValue):
		return deltaValue{}, false, nil
	}
	if x, ok := v.(floatValue); ok && math.IsInf(float64(x), 0) {
		return deltaValue{}, false, nil
	}
	return deltaValue{}, false, err
}

func plural(n int64, unit string) string {
	if n == 1 {
		return "1 " + unit
	}
	return strconv.FormatInt(n, 10) + " " + unit + "s"
}

// naturalDelta formats a time span in its largest unit, or its two largest from one year on.
func naturalDelta(d deltaValue, useMonths bool, unit timeUnit) string {
	total, secs, micros := d.parts()
	years, days := total/365, total%365
	months := int64(math.RoundToEven(float64(days) / 30.5))
	switch {
	case years == 0 && days < 1:
		return naturalSeconds(secs, micros, unit)
	case years == 0:
		switch {
		case days == 1:
			return "a day"
		case !useMonths || months == 0:
			return plural(days, "day")
		case months == 1:
			return "a month"
		case months == 12:
			return "a year"
		}
		return plural(months, "month")
	case years == 1:
		switch {
		case months == 0 && days == 0:
			return "a year"
		case months == 0 || !useMonths:
			return "1 year, " + plural(days, "day")
		case months == 12:
			return "2 years"
		}
		return "1 year, " + plural(months, "month")
	}
	years = int64(math.RoundToEven(float64(total) / 365))
	return group(strconv.FormatInt(years, 10), ",", 3, 0) + " years"
}

func naturalSeconds(secs, micros int64, unit timeUnit) string {
	switch {
	case secs == 0:
		if unit == unitMicroseconds && micros < 1000 {
			return plural(micros, "microsecond")
		}
		if unit == unitMilliseconds || unit == unitMicroseconds {
			return plural(micros/1000, "millisecond")
		}
		return "a moment"
	case secs == 1:
		return "a second"
	case secs < 60:
		return plural(secs, "second")
	case secs < 3600:
		switch m := int64(math.RoundToEven(float64(secs) / 60)); m {
		case 1:
			return "a minute"
		case 60:
			return "an hour"
		default:
			return plural(m, "minute")
		}
	}
	switch h := int64(math.RoundToEven(float64(secs) / 3600)); h {
	case 1:
		return "an hour"
	case 24:
		return "a day"
	default:
		return plural(h, "hour")
	}
}

func humanizeTime(rt *state, a []Value) (Value, error) {
	printed := func() (Value, error) {
		s, err := rt.str(a[0])
		return strValue(s), err
	}
	if given(a[4]) {
		ok, err := truthy(rt, a[4])
		if err != nil {
			return nil, err
		}
		if ok {
			return printed() // templates have no dates
		}
	}
	d, ok, err := rt.delta(a[0], false)
	if err != nil {
		return nil, err
	}
	if !ok {
		return printed()
	}
	future, err := rt.flag(a[1], false)
	if err != nil {
		return nil, err
	}
	months, err := rt.flag(a[2], true)
	if err != nil {
		return nil, err
	}
	unit, err := minimumUnit(a[3])
	if err != nil {
		return nil, err
	}
	if t, isDelta := a[0].(deltaValue); isDelta {
		future = t.days < 0
	}
	text := naturalDelta(d, months, unit)
	switch {
	case text == "a moment":
		return strValue("now"), nil
	case future:
		return strValue(text + " from now"), nil
	}
	return strValue(text + " ago"), nil
}

package expr

import (
	"fmt"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/orch-project/orch/pkg/embeddedmongo/internal/mongoerr"
	"github.com/orch-project/orch/pkg/embeddedmongo/internal/value"
)

var dates = map[string]function{
	"$year":         {1, 1, datePart("$year", time.Time.Year)},
	"$month":        {1, 1, datePart("$month", func(t time.Time) int { return int(t.Month()) })},
	"$dayOfMonth":   {1, 1, datePart("$dayOfMonth", time.Time.Day)},
	"$dayOfWeek":    {1, 1, datePart("$dayOfWeek", func(t time.Time) int { return int(t.Weekday()) + 1 })},
	"$dayOfYear":    {1, 1, datePart("$dayOfYear", time.Time.YearDay)},
	"$hour":         {1, 1, datePart("$hour", time.Time.Hour)},
	"$minute":       {1, 1, datePart("$minute", time.Time.Minute)},
	"$second":       {1, 1, datePart("$second", time.Time.Second)},
	"$millisecond":  {1, 1, datePart("$millisecond", func(t time.Time) int { return t.Nanosecond() / 1e6 })},
	"$isoWeek":      {1, 1, datePart("$isoWeek", func(t time.Time) int { _, w := t.ISOWeek(); return w })},
	"$isoWeekYear":  {1, 1, datePart("$isoWeekYear", func(t time.Time) int { y, _ := t.ISOWeek(); return y })},
	"$isoDayOfWeek": {1, 1, datePart("$isoDayOfWeek", func(t time.Time) int { return (int(t.Weekday())+6)%7 + 1 })},
}

func instant(ms int64) time.Time { return time.UnixMilli(ms).UTC() }

func isoDate(ms int64) string { return instant(ms).Format("2006-01-02T15:04:05.000Z") }

func asDate(op string, v value.Value) (time.Time, error) {
	d, err := toDate(v)
	if err != nil || v.T == bson.TypeString || v.T == bson.TypeDouble || v.T == bson.TypeInt64 {
		return time.Time{}, mongoerr.New(mongoerr.Kind{Code: 16006, Name: "Location16006"}, "%s: can't convert from BSON type %s to Date", op, value.TypeName(v.T))
	}
	return instant(d.Int64()), nil
}

func datePart(op string, f func(time.Time) int) func(*Env, []value.Value) (value.Value, error) {
	return func(_ *Env, a []value.Value) (value.Value, error) {
		if a[0].IsNullish() {
			return value.Null, nil
		}
		if a[0].T == bson.TypeEmbeddedDocument {
			return a[0], mongoerr.NotImplemented("%s with a time zone", op)
		}
		t, err := asDate(op, a[0])
		if err != nil {
			return a[0], err
		}
		return value.OfInt(int64(f(t))), nil
	}
}

// dateArgs evaluates the named arguments; null is true when one of them is null or missing, which makes the result null.
func dateArgs(e *Env, m map[string]Expr) (vs map[string]value.Value, null bool, err error) {
	vs = map[string]value.Value{}
	for k, x := range m {
		v, err := x(e)
		if err != nil {
			return nil, false, err
		}
		if v.IsNullish() {
			null = true
		}
		vs[k] = v
	}
	return vs, null, nil
}

func compileDateTrunc(arg value.Value, sc *scope) (Expr, error) {
	m, err := namedArgs("$dateTrunc", arg, sc, []string{"date", "unit"}, []string{"binSize", "startOfWeek"})
	if err != nil {
		return nil, err
	}
	return func(e *Env) (value.Value, error) {
		vs, null, err := dateArgs(e, m)
		if err != nil || null {
			return value.Null, err
		}
		t, err := asDate("$dateTrunc", vs["date"])
		if err != nil {
			return value.Null, err
		}
		bin := int64(1)
		if v, ok := vs["binSize"]; ok {
			if bin, ok = v.Int(); !ok || bin <= 0 {
				return v, mongoerr.New(mongoerr.BadValue, "$dateTrunc requires a positive integral binSize")
			}
		}
		start := time.Sunday
		if v, ok := vs["startOfWeek"]; ok {
			if start, err = weekday(v.Str()); err != nil {
				return v, err
			}
		}
		r, err := truncate(t, vs["unit"].Str(), bin, start)
		return value.OfDate(r.UnixMilli()), err
	}, nil
}

func weekday(s string) (time.Weekday, error) {
	for d := time.Sunday; d <= time.Saturday; d++ {
		if l := strings.ToLower(s); l == strings.ToLower(d.String()) || l == strings.ToLower(d.String()[:3]) {
			return d, nil
		}
	}
	return 0, mongoerr.New(mongoerr.BadValue, "%q is not a day of the week", s)
}

// truncate floors a date to bins counted from the reference 2000-01-01T00:00Z, as MongoDB does; weeks from the first start day after it.
func truncate(t time.Time, unit string, bin int64, start time.Weekday) (time.Time, error) {
	ref := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)
	switch unit {
	case "year", "quarter", "month":
		per := map[string]int64{"year": 12, "quarter": 3, "month": 1}[unit] * bin
		months := int64(t.Year()-2000)*12 + int64(t.Month()) - 1
		return ref.AddDate(0, int(floorDiv(months, per)*per), 0), nil
	case "week":
		ref = ref.AddDate(0, 0, (int(start)-int(ref.Weekday())+7)%7)
	}
	d, err := unitDuration(unit)
	if err != nil {
		return t, err
	}
	per := d.Milliseconds() * bin
	return instant(ref.UnixMilli() + floorDiv(t.UnixMilli()-ref.UnixMilli(), per)*per), nil
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b != 0 && (a < 0) != (b < 0) {
		q--
	}
	return q
}

func unitDuration(unit string) (time.Duration, error) {
	switch unit {
	case "millisecond":
		return time.Millisecond, nil
	case "second":
		return time.Second, nil
	case "minute":
		return time.Minute, nil
	case "hour":
		return time.Hour, nil
	case "day":
		return 24 * time.Hour, nil
	case "week":
		return 7 * 24 * time.Hour, nil
	}
	return 0, mongoerr.New(mongoerr.FailedToParse, "unknown time unit value: %s", unit)
}

func compileDateAdd(sign int64) special {
	op := "$dateAdd"
	if sign < 0 {
		op = "$dateSubtract"
	}
	return func(arg value.Value, sc *scope) (Expr, error) {
		m, err := namedArgs(op, arg, sc, []string{"startDate", "unit", "amount"}, nil)
		if err != nil {
			return nil, err
		}
		return func(e *Env) (value.Value, error) {
			vs, null, err := dateArgs(e, m)
			if err != nil || null {
				return value.Null, err
			}
			t, err := asDate(op, vs["startDate"])
			if err != nil {
				return value.Null, err
			}
			n, ok := vs["amount"].Int()
			if !ok {
				return value.Null, mongoerr.New(mongoerr.BadValue, "%s expects an integer amount", op)
			}
			r, err := shift(t, vs["unit"].Str(), sign*n)
			return value.OfDate(r.UnixMilli()), err
		}, nil
	}
}

func shift(t time.Time, unit string, n int64) (time.Time, error) {
	months := map[string]int64{"year": 12, "quarter": 3, "month": 1}[unit]
	if months == 0 {
		d, err := unitDuration(unit)
		return instant(t.UnixMilli() + n*d.Milliseconds()), err
	}
	// The day is clamped to the target month's last one.
	first := time.Date(t.Year(), t.Month(), 1, t.Hour(), t.Minute(), t.Second(), t.Nanosecond(), time.UTC).AddDate(0, int(n*months), 0)
	last := first.AddDate(0, 1, -1).Day()
	return first.AddDate(0, 0, min(t.Day(), last)-1), nil
}

func compileDateDiff(arg value.Value, sc *scope) (Expr, error) {
	m, err := namedArgs("$dateDiff", arg, sc, []string{"startDate", "endDate", "unit"}, nil)
	if err != nil {
		return nil, err
	}
	return func(e *Env) (value.Value, error) {
		vs, null, err := dateArgs(e, m)
		if err != nil || null {
			return value.Null, err
		}
		a, err := asDate("$dateDiff", vs["startDate"])
		if err != nil {
			return value.Null, err
		}
		b, err := asDate("$dateDiff", vs["endDate"])
		if err != nil {
			return value.Null, err
		}
		unit := vs["unit"].Str()
		if per := map[string]int64{"year": 12, "quarter": 3, "month": 1}[unit]; per != 0 {
			ma, mb := int64(a.Year())*12+int64(a.Month())-1, int64(b.Year())*12+int64(b.Month())-1
			return value.OfInt64(floorDiv(mb, per) - floorDiv(ma, per)), nil
		}
		d, err := unitDuration(unit)
		if err != nil {
			return value.Null, err
		}
		ta, err := truncate(a, unit, 1, time.Sunday)
		if err != nil {
			return value.Null, err
		}
		tb, err := truncate(b, unit, 1, time.Sunday)
		return value.OfInt64((tb.UnixMilli() - ta.UnixMilli()) / d.Milliseconds()), err
	}, nil
}

func compileDateToString(arg value.Value, sc *scope) (Expr, error) {
	m, err := namedArgs("$dateToString", arg, sc, []string{"date"}, []string{"format", "onNull"})
	if err != nil {
		return nil, err
	}
	return func(e *Env) (value.Value, error) {
		v, err := m["date"](e)
		if err != nil {
			return v, err
		}
		if v.IsNullish() {
			if x := m["onNull"]; x != nil {
				return x(e)
			}
			return value.Null, nil
		}
		t, err := asDate("$dateToString", v)
		if err != nil {
			return v, err
		}
		format := "%Y-%m-%dT%H:%M:%S.%LZ"
		if x := m["format"]; x != nil {
			f, err := x(e)
			if err != nil || f.T != bson.TypeString {
				return f, err
			}
			format = f.Str()
		}
		s, err := formatDate(t, format)
		return value.OfString(s), err
	}, nil
}

func formatDate(t time.Time, format string) (string, error) {
	var b strings.Builder
	for i := 0; i < len(format); i++ {
		if format[i] != '%' {
			b.WriteByte(format[i])
			continue
		}
		if i++; i == len(format) {
			return "", mongoerr.New(mongoerr.Kind{Code: 18535, Name: "Location18535"}, "unmatched '%%' at the end of the format")
		}
		year, week := t.ISOWeek()
		switch format[i] {
		case 'Y':
			fmt.Fprintf(&b, "%04d", t.Year())
		case 'm':
			fmt.Fprintf(&b, "%02d", int(t.Month()))
		case 'd':
			fmt.Fprintf(&b, "%02d", t.Day())
		case 'H':
			fmt.Fprintf(&b, "%02d", t.Hour())
		case 'M':
			fmt.Fprintf(&b, "%02d", t.Minute())
		case 'S':
			fmt.Fprintf(&b, "%02d", t.Second())
		case 'L':
			fmt.Fprintf(&b, "%03d", t.Nanosecond()/1e6)
		case 'j':
			fmt.Fprintf(&b, "%03d", t.YearDay())
		case 'u':
			fmt.Fprintf(&b, "%d", (int(t.Weekday())+6)%7+1)
		case 'w':
			fmt.Fprintf(&b, "%d", int(t.Weekday())+1)
		case 'G':
			fmt.Fprintf(&b, "%04d", year)
		case 'V':
			fmt.Fprintf(&b, "%02d", week)
		case 'z':
			b.WriteString("+0000")
		case 'Z':
			b.WriteByte('0')
		case '%':
			b.WriteByte('%')
		default:
			return "", mongoerr.New(mongoerr.Kind{Code: 18536, Name: "Location18536"}, "invalid format character '%%%c' in $dateToString", format[i])
		}
	}
	return b.String(), nil
}

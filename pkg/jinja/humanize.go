package jinja

import (
	"math"
	"math/big"
)

// addHumanizeFilters adds the filters of jinja2-humanize-extension, in English.
func addHumanizeFilters(t map[string]*builtin) {
	add := func(name, signature string, fn func(rt *state, a []Value) (Value, error)) {
		name = "humanize_" + name
		t[name] = define(name, signature, fn)
	}
	add("abs_timedelta", "delta", func(rt *state, a []Value) (Value, error) {
		if d, ok := a[0].(deltaValue); ok {
			return d.abs(), nil
		}
		return filterAbs(rt, a)
	})
	add("naturalsize", "value binary= gnu= format=", humanizeSize)
	t["humanize_date_and_delta"] = defineRaw("humanize_date_and_delta", humanizeDateAndDelta)
	add("naturaldate", "value", humanizeDate)
	add("naturalday", "value", humanizeDate)
	add("naturaldelta", "value months= minimum_unit=", humanizeDelta)
	add("naturaltime", "value future= months= minimum_unit= when=", humanizeTime)
	add("precisedelta", "value minimum_unit= suppress= format=", humanizePrecise)
	add("ordinal", "value gender=", humanizeOrdinal)
	add("intcomma", "value ndigits=", humanizeComma)
	add("intword", "value format=", humanizeWord)
	add("apnumber", "value", humanizeAP)
	add("fractional", "value", humanizeFraction)
	add("scientific", "value precision=", humanizeScientific)
	add("clamp", "value floor= ceil= format= floor_token= ceil_token=", humanizeClamp)
	add("metric", "value unit= precision=", humanizeMetric)
	add("activate", "locale path=", humanizeActivate)
	add("deactivate", "value", func(*state, []Value) (Value, error) { return None, nil })
	add("thousands_separator", "value", func(*state, []Value) (Value, error) { return strValue(","), nil })
	add("decimal_separator", "value", func(*state, []Value) (Value, error) { return strValue("."), nil })
}

// notFinite returns the text for infinities and NaN.
func notFinite(f float64) (Value, bool) {
	switch {
	case math.IsNaN(f):
		return strValue("NaN"), true
	case math.IsInf(f, -1):
		return strValue("-Inf"), true
	case math.IsInf(f, 1):
		return strValue("+Inf"), true
	}
	return nil, false
}

// wholeNumber is int(value) of a finite number. Other values return their printed form instead.
func (rt *state) wholeNumber(v Value) (n *big.Int, text Value, err error) {
	f, err := rt.parseFloat(v)
	if err == nil {
		if t, bad := notFinite(f); bad {
			return nil, t, nil
		}
		var i Value
		if i, err = toInt(rt, v, nil); err == nil {
			n, _ = toBig(i)
			return n, nil, nil
		}
	}
	if isClass(err, classType, classValue) {
		s, err := rt.str(v)
		return nil, strValue(s), err
	}
	return nil, nil, err
}

func humanizeOrdinal(rt *state, a []Value) (Value, error) {
	n, text, err := rt.wholeNumber(a[0])
	if err != nil || text != nil {
		return text, err
	}
	s, err := rt.str(normBig(n))
	if err != nil {
		return nil, err
	}
	suffix := "th"
	m := new(big.Int).Mod(n, big.NewInt(100)).Int64()
	if m < 11 || m > 13 {
		switch m % 10 {
		case 1:
			suffix = "st"
		case 2:
			suffix = "nd"
		case 3:
			suffix = "rd"
		}
	}
	return strValue(s + suffix), nil
}

func humanizeAP(rt *state, a []Value) (Value, error) {
	n, text, err := rt.wholeNumber(a[0])
	if err != nil || text != nil {
		return text, err
	}
	if n.IsInt64() && n.Int64() >= 0 && n.Int64() < 10 {
		words := [...]string{"zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"}
		return strValue(words[n.Int64()]), nil
	}
	s, err := rt.str(normBig(n))
	return strValue(s), err
}

func humanizeDate(rt *state, a []Value) (Value, error) {
	if u, ok := a[0].(*undefinedValue); ok {
		if u.mode != Chainable {
			return nil, u.fail()
		}
		return nil, typeErr("'ChainableUndefined' object cannot be interpreted as an integer")
	}
	s, err := rt.str(a[0])
	return strValue(s), err
}

// humanizeActivate accepts English only.
func humanizeActivate(_ *state, a []Value) (Value, error) {
	if a[0] == None {
		return strValue("<gettext.NullTranslations object>"), nil
	}
	s, ok := asText(a[0])
	if !ok {
		if u, isU := a[0].(*undefinedValue); isU {
			return nil, u.fail()
		}
		return nil, attributeErr("'%s' object has no attribute 'startswith'", a[0].typeName())
	}
	if len(s) >= 2 && s[:2] == "en" {
		return strValue("<gettext.NullTranslations object>"), nil
	}
	return nil, otherErr("FileNotFoundError", "[Errno 2] No translation file found for domain: 'humanize'")
}

package jinja

import (
	"math"
	"strings"
)

// humanizePrecise formats a time span in all its units.
func humanizePrecise(rt *state, a []Value) (Value, error) {
	d, ok, err := rt.delta(a[0], true)
	if err != nil {
		return nil, err
	}
	if !ok {
		s, err := rt.str(a[0])
		return strValue(s), err
	}
	p := &preciseDelta{rt: rt, form: strValue("%0.2f"), least: unitSeconds}
	if a[3] != nil {
		p.form = a[3]
	}
	if a[2] != nil {
		items, err := rt.toSlice(a[2])
		if err != nil {
			return nil, err
		}
		for _, it := range items {
			u, err := parseUnit(it)
			if err != nil {
				return nil, err
			}
			p.suppressed[u] = true
		}
	}
	if a[1] != nil {
		if p.least, err = parseUnit(a[1]); err != nil {
			return nil, err
		}
	}
	for p.least < noUnit && p.suppressed[p.least] {
		p.least++
	}
	if p.least == noUnit {
		return nil, valueErr("Minimum unit is suppressed and no suitable replacement was found")
	}
	for u := range p.least {
		p.suppressed[u] = true
	}
	if err := p.divide(d); err != nil {
		return nil, err
	}
	p.carry()
	return p.text()
}

type preciseDelta struct {
	rt         *state
	form       Value
	least      timeUnit
	suppressed [noUnit]bool
	amount     [noUnit]float64
}

// take splits value by divisor into the amount of a unit and the rest.
func (p *preciseDelta) take(u timeUnit, value, divisor float64) (rest float64, err error) {
	if u == p.least {
		p.amount[u], err = p.rounded(value / divisor)
		return 0, err
	}
	if p.suppressed[u] {
		return value, nil
	}
	q, m := floatDivMod(value, divisor)
	p.amount[u] = q
	return math.Trunc(m), nil
}

// rounded is the number as the format rounds it.
func (p *preciseDelta) rounded(f float64) (float64, error) {
	out, err := p.rt.formatted(p.form, floatValue(f))
	if err != nil {
		return 0, err
	}
	if n, err := toInt(p.rt, out, nil); err == nil {
		return toFloat(n)
	} else if !isClass(err, classValue) {
		return 0, err
	}
	return p.rt.parseFloat(out)
}

func (p *preciseDelta) divide(d deltaValue) error {
	days, secs, micros := d.parts()
	rest, err := p.take(unitYears, float64(days), 365)
	if err != nil {
		return err
	}
	if rest, err = p.take(unitMonths, rest, 30.5); err != nil {
		return err
	}
	rest = rest*24*3600 + float64(secs)
	for _, u := range []struct {
		unit timeUnit
		secs float64
	}{{unitDays, 24 * 3600}, {unitHours, 3600}, {unitMinutes, 60}} {
		if rest, err = p.take(u.unit, rest, u.secs); err != nil {
			return err
		}
	}
	rest = rest*1e6 + float64(micros)
	if rest, err = p.take(unitSeconds, rest, 1e6); err != nil {
		return err
	}
	if rest, err = p.take(unitMilliseconds, rest, 1000); err != nil {
		return err
	}
	p.amount[unitMicroseconds] = rest
	return nil
}

// carry moves a unit that rounding filled up to the next unit.
func (p *preciseDelta) carry() {
	full := [noUnit]float64{unitMilliseconds: 1000, unitSeconds: 60, unitMinutes: 60, unitHours: 24, unitDays: 31, unitMonths: 12}
	for u := unitMilliseconds; u < unitYears; u++ {
		if p.amount[u] >= full[u] && !p.suppressed[u+1] {
			p.amount[u] -= full[u]
			p.amount[u+1]++
		}
	}
}

func (p *preciseDelta) text() (Value, error) {
	var texts []string
	for u := unitYears; u >= 0; u-- {
		n := p.amount[u]
		// The original continues below the least unit if that is the year and its amount is an integer.
		if u < p.least && !(p.least == unitYears && p.amount[unitYears] == math.Trunc(p.amount[unitYears])) {
			break
		}
		if n <= 0 && (len(texts) > 0 || u != p.least) {
			continue
		}
		name := unitNames[u]
		if whole := math.Trunc(n); whole == 1 && n <= 1 {
			name = strings.TrimSuffix(name, "s")
		}
		number, err := p.number(u, n)
		if err != nil {
			return nil, err
		}
		texts = append(texts, number+" "+name)
	}
	if len(texts) == 1 {
		return strValue(texts[0]), nil
	}
	last := len(texts) - 1
	return strValue(strings.Join(texts[:last], ", ") + " and " + texts[last]), nil
}

func (p *preciseDelta) number(u timeUnit, n float64) (string, error) {
	whole := n == math.Trunc(n)
	var v Value = floatValue(n)
	if whole {
		i, err := floatToBig(n)
		if err != nil {
			return "", err
		}
		v = normBig(i)
	}
	switch {
	case u == p.least && !whole:
		out, err := p.rt.formatted(p.form, v)
		if err != nil {
			return "", err
		}
		s, _ := asText(out)
		return s, nil
	case u == unitYears:
		return p.rt.format(v, ",")
	}
	i, err := floatToBig(n)
	if err != nil {
		return "", err
	}
	return p.rt.str(normBig(i))
}

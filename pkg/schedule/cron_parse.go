package schedule

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// maxCron bounds the length of a cron expression, in bytes.
const maxCron = 1000

// cronAliases are the names of common expressions.
var cronAliases = map[string]string{
	"@yearly": "0 0 1 1 *", "@annually": "0 0 1 1 *", "@monthly": "0 0 1 * *", "@weekly": "0 0 * * 0",
	"@daily": "0 0 * * *", "@midnight": "0 0 * * *", "@hourly": "0 * * * *",
}

// cronField describes one field of an expression.
type cronField struct {
	low, high int
	names     map[string]int
}

// The fields in the order of an expression.
const (
	fieldMinute = iota
	fieldHour
	fieldDay
	fieldMonth
	fieldWeekday
	fieldSecond
	fieldYear
)

// weekdayOfLong is the day of the week in expressions with seconds, where Sunday is 0 only.
var weekdayOfLong = cronField{low: 0, high: 6, names: numbered(0, "sun mon tue wed thu fri sat")}

var cronFields = []cronField{
	fieldMinute:  {low: 0, high: 59},
	fieldHour:    {low: 0, high: 23},
	fieldDay:     {low: 1, high: 31, names: map[string]int{"l": 31}},
	fieldMonth:   {low: 1, high: 12, names: numbered(1, "jan feb mar apr may jun jul aug sep oct nov dec")},
	fieldWeekday: {low: 0, high: 7, names: numbered(0, "sun mon tue wed thu fri sat")},
	fieldSecond:  {low: 0, high: 59},
	fieldYear:    {low: 1970, high: 2099},
}

func numbered(first int, names string) map[string]int {
	m := map[string]int{}
	for i, name := range strings.Fields(names) {
		m[name] = first + i
	}
	return m
}

// ParseCron reads a cron expression: minute, hour, day of month, month, day of week, and optionally second and year.
//
//	field       = element *("," element)
//	element     = range ["/" step]
//	range       = "*" | value | value "-" value    a range may wrap: 22-2, fri-mon
//	day         also "?" and "L", the last day of the month
//	day of week also "?", "5#2" (the second Friday) and "L5" (the last Friday); 0 and 7 are Sunday
//
// Names of months and weekdays and the aliases @yearly, @annually, @monthly, @weekly, @daily, @midnight and @hourly are
// understood in any case. With seconds, Sunday is 0 only, as in the reference. A value with a step alone reaches to the field's end. If both days are restricted, dayOr says
// that one of them is enough. Numbered weekdays replace the day of the month unless dayOr is false. Random (R) and hashed
// (H) expressions are refused: they mean something else at every reading.
func ParseCron(text string, zone *time.Location, dayOr bool) (*Cron, error) {
	if len(text) > maxCron {
		return nil, fmt.Errorf("%w: Invalid cron string: longer than %d bytes", ErrInvalid, maxCron)
	}
	lower := strings.ToLower(strings.TrimSpace(text))
	if expanded, ok := cronAliases[lower]; ok {
		lower = expanded
	}
	fields := strings.Fields(lower)
	if len(fields) < 5 || len(fields) > 7 {
		return nil, fmt.Errorf("%w: Invalid cron string: %q", ErrInvalid, text)
	}
	for _, field := range fields {
		if strings.HasPrefix(field, "r") {
			return nil, fmt.Errorf("%w: Random and Hashed expressions are unsupported, received: %q", ErrInvalid, text)
		}
	}
	c := &Cron{text: text, zone: zone, dayOr: dayOr, seconds: 1}
	c.long = len(fields) > 5
	for i, field := range fields {
		if err := c.readField(i, field); err != nil {
			return nil, &InvalidError{Message: fmt.Sprintf("Invalid cron string: %q", text), Detail: err.Error()}
		}
	}
	c.anyDay = unrestricted(fields[fieldDay], fields[fieldWeekday], c.days == allDays)
	c.anyWeek = unrestricted(fields[fieldWeekday], fields[fieldDay], c.weekday == allWeekdays)
	return c, nil
}

// The sets of all days.
const (
	allDays     = 1<<32 - 2
	allWeekdays = 1<<7 - 1
)

// unrestricted reports whether a field of days leaves the choice to the other one: it has a star, or it lists all days and
// the other one has a star.
func unrestricted(field, other string, full bool) bool {
	star := func(element string) bool { return element == "*" || element == "?" }
	return slices.ContainsFunc(strings.Split(field, ","), star) || full && strings.ContainsAny(other, "*?")
}

// String is the expression as it was written.
func (c *Cron) String() string { return c.text }

func (c *Cron) field(index int) cronField {
	if index == fieldWeekday && c.long {
		return weekdayOfLong
	}
	return cronFields[index]
}

func (c *Cron) readField(index int, text string) error {
	if text == "?" && (index == fieldDay || index == fieldWeekday) {
		text = "*"
	}
	var values []int
	for element := range strings.SplitSeq(text, ",") {
		special, err := c.readSpecial(index, element)
		if err != nil {
			return err
		}
		if special {
			continue
		}
		expanded, err := c.field(index).expand(element)
		if err != nil {
			return err
		}
		values = append(values, expanded...)
	}
	return c.set(index, values)
}

// readSpecial reads anything that is not a list of numbers: the last day of the month and numbered weekdays.
func (c *Cron) readSpecial(index int, element string) (bool, error) {
	switch {
	case index == fieldDay && element == "l":
		c.lastDay = true
		return true, nil
	case index != fieldWeekday:
		return false, nil
	case len(element) == 2 && element[0] == 'l' && element[1] >= '0' && int(element[1]-'0') <= c.field(index).high:
		c.nth = append(c.nth, nthWeekday{int(element[1]-'0') % 7, 0})
		return true, nil
	}
	weekday, n, numberedDay := strings.Cut(element, "#")
	if !numberedDay {
		return false, nil
	}
	value, err := c.field(index).value(weekday)
	if err != nil {
		return false, err
	}
	if len(n) != 1 || n[0] < '1' || n[0] > '5' {
		return false, fmt.Errorf("%q is not 1 to 5", n)
	}
	c.nth = append(c.nth, nthWeekday{value % 7, int(n[0] - '0')})
	return true, nil
}

func (c *Cron) set(index int, values []int) error {
	if index == fieldYear {
		if len(values) < cronFields[index].high-cronFields[index].low+1 {
			c.years = map[int]bool{}
			for _, v := range values {
				c.years[v] = true
			}
		}
		return nil
	}
	var set uint64
	for _, v := range values {
		if index == fieldWeekday {
			v %= 7
			numberedToo := slices.ContainsFunc(c.nth, func(w nthWeekday) bool { return w.weekday == v })
			if len(c.nth) > 0 && !numberedToo {
				return fmt.Errorf("weekdays and numbered weekdays do not mix")
			}
		}
		set |= 1 << v
	}
	switch index {
	case fieldMinute:
		c.minutes = set
	case fieldHour:
		c.hours = set
	case fieldDay:
		c.days = set
	case fieldMonth:
		c.months = set
	case fieldWeekday:
		c.weekday = set
	case fieldSecond:
		c.seconds = set
	}
	return nil
}

// expand lists the numbers of an element.
func (f cronField) expand(element string) ([]int, error) {
	span, stepText, stepped := strings.Cut(element, "/")
	step := 1
	if stepped {
		var err error
		if step, err = number(stepText); err != nil {
			return nil, err
		}
		if step == 0 {
			return nil, fmt.Errorf("step 0")
		}
	}
	if span == "*" {
		return f.steps(f.low, f.highest(), step), nil
	}
	lowText, highText, ranged := strings.Cut(span, "-")
	low, err := f.value(lowText)
	if err != nil {
		return nil, err
	}
	if lowText == "l" {
		return nil, fmt.Errorf("a range from the last day")
	}
	switch {
	case ranged:
		high, err := f.value(highText)
		if err != nil {
			return nil, err
		}
		return f.wrapped(low, high, step), nil
	case stepped:
		return f.wrapped(low, f.highest(), step), nil
	default:
		return []int{low}, nil
	}
}

// highest is the last number of a star: Sunday is there once.
func (f cronField) highest() int {
	if f.high == 7 {
		return 6
	}
	return f.high
}

// wrapped lists a range. A range that ends where it begins is the whole field; a range that ends before its beginning goes on at the
// field's beginning.
func (f cronField) wrapped(low, high, step int) []int {
	switch {
	case low == high:
		return f.steps(f.low, f.highest(), step)
	case low < high:
		return f.steps(low, high, step)
	}
	values := f.steps(low, f.highest(), step)
	skip := 0
	if len(values) > 0 {
		// The step goes on behind the end of the field, from its last number.
		last := values[len(values)-1]
		size, passed := f.highest()-f.low+1, f.highest()-last
		if last-f.low+step > size && passed < step {
			skip = step - passed
		}
	}
	return append(values, f.steps(f.low+skip, high, step)...)
}

func (f cronField) steps(low, high, step int) []int {
	var values []int
	for v := low; v <= high; v += step {
		values = append(values, v)
	}
	return values
}

// value reads a number or a name of the field.
func (f cronField) value(text string) (int, error) {
	if v, ok := f.names[text]; ok {
		return v, nil
	}
	v, err := number(text)
	if err != nil {
		return 0, err
	}
	if v < f.low || v > f.high {
		return 0, fmt.Errorf("%d is not in %d-%d", v, f.low, f.high)
	}
	return v, nil
}

// number reads digits, and nothing else.
func number(text string) (int, error) {
	if text == "" || len(text) > 9 || strings.Trim(text, "0123456789") != "" {
		return 0, fmt.Errorf("%q is not a number", text)
	}
	return strconv.Atoi(text)
}

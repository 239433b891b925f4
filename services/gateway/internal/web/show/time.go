package show

import (
	"fmt"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/orch-project/orch/services/gateway/internal/web/markup"
)

const clockLayout = "2006-01-02 15:04:05"

// Clock formats times in one zone.
type Clock struct {
	Now  time.Time
	Zone *time.Location
}

// Time returns a <time> element; empty for no time. The script adds how long ago it was.
func (c Clock) Time(t *timestamppb.Timestamp) markup.Markup {
	if t == nil || !t.IsValid() {
		return markup.Markup{}
	}
	return c.At(t.AsTime())
}

// At is Time for a time.Time. The zero time is empty.
func (c Clock) At(t time.Time) markup.Markup {
	if t.IsZero() {
		return markup.Markup{}
	}
	var b markup.Builder
	exact := t.UTC().Format(time.RFC3339Nano)
	local := t.In(c.Zone)
	zone, _ := local.Zone()
	b.Raw("<time").Attr("datetime", exact).Attr("title", local.Format("2006-01-02 15:04:05.999999 ")+zone).Raw(">")
	b.Text(local.Format(clockLayout)).Raw("</time>")
	return b.Markup()
}

// Text formats a time without markup.
func (c Clock) Text(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.In(c.Zone).Format(clockLayout)
}

// Precise formats a time with milliseconds.
func (c Clock) Precise(t time.Time) string { return t.In(c.Zone).Format(clockLayout + ".000") }

// Ago formats the distance to a time: "12 min ago", "in 3 h", "just now".
func (c Clock) Ago(t *timestamppb.Timestamp) string {
	if t == nil {
		return ""
	}
	d := c.Now.Sub(t.AsTime())
	switch {
	case d > -5*time.Second && d < 5*time.Second:
		return "just now"
	case d < 0:
		return "in " + coarse(-d)
	}
	return coarse(d) + " ago"
}

// coarse formats a duration with its largest unit.
func coarse(d time.Duration) string {
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%d s", d/time.Second)
	case d < time.Hour:
		return fmt.Sprintf("%d min", d/time.Minute)
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h", d/time.Hour)
	}
	return fmt.Sprintf("%d d", d/(24*time.Hour))
}

// Duration formats a duration with its two largest units: "1 h 12 min", "4.2 s", "310 ms".
func Duration(d time.Duration) string {
	switch {
	case d < 0:
		return "-" + Duration(-d)
	case d == 0:
		return "0 s"
	case d < time.Millisecond:
		return fmt.Sprintf("%d µs", d/time.Microsecond)
	case d < time.Second:
		return fmt.Sprintf("%d ms", d/time.Millisecond)
	case d < time.Minute:
		return strings.TrimSuffix(fmt.Sprintf("%.1f", d.Seconds()), ".0") + " s"
	case d < time.Hour:
		return two(d, time.Minute, "min", time.Second, "s")
	case d < 24*time.Hour:
		return two(d, time.Hour, "h", time.Minute, "min")
	}
	return two(d, 24*time.Hour, "d", time.Hour, "h")
}

func two(d, large time.Duration, largeName string, small time.Duration, smallName string) string {
	text := fmt.Sprintf("%d %s", d/large, largeName)
	if rest := d % large / small; rest > 0 {
		text += fmt.Sprintf(" %d %s", rest, smallName)
	}
	return text
}

// Seconds formats a duration given in seconds as an element whose title is exact; empty for zero.
func Seconds(seconds float64) markup.Markup {
	if seconds <= 0 || seconds > 1e9 {
		return markup.Markup{}
	}
	d := time.Duration(seconds * float64(time.Second))
	var b markup.Builder
	b.Raw("<span").Attr("title", fmt.Sprintf("%.6g s", seconds)).Raw(">").Text(Duration(d)).Raw("</span>")
	return b.Markup()
}

// Plain is Time without the distance from now that the script adds, for log lines.
func (c Clock) Plain(t *timestamppb.Timestamp) markup.Markup {
	if t == nil {
		return markup.Markup{}
	}
	var b markup.Builder
	local := t.AsTime().In(c.Zone)
	b.Raw("<time data-plain").Attr("datetime", t.AsTime().Format(time.RFC3339Nano)).Attr("title", local.Format("2006-01-02 15:04:05.999999 MST")).Raw(">")
	b.Text(local.Format("15:04:05.000")).Raw("</time>")
	return b.Markup()
}

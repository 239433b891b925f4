package schedules

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/orch-project/orch/pkg/schedule"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// Parse reads a schedule as it is stored or sent. An interval without an anchor is counted from now. It returns an error that
// wraps schedule.ErrInvalid for a schedule that cannot have times.
func Parse(s *orchv1.Schedule, now time.Time) (schedule.Schedule, error) {
	zone := func(name *string) (*time.Location, error) {
		if name == nil {
			return time.UTC, nil
		}
		return schedule.Zone(*name)
	}
	switch kind := s.GetKind().(type) {
	case *orchv1.Schedule_Interval:
		location, err := zone(kind.Interval.Timezone)
		if err != nil {
			return nil, err
		}
		anchor := now
		if kind.Interval.AnchorDate != nil {
			anchor = kind.Interval.GetAnchorDate().AsTime()
		}
		every := kind.Interval.GetInterval()
		if every.GetSeconds() > math.MaxInt64/2_000_000 {
			return nil, fmt.Errorf("%w: interval is too long", schedule.ErrInvalid)
		}
		return schedule.NewInterval(every.GetSeconds()*1_000_000+int64(every.GetNanos())/1000, anchor, location)
	case *orchv1.Schedule_Cron:
		location, err := zone(kind.Cron.Timezone)
		if err != nil {
			return nil, err
		}
		return schedule.ParseCron(kind.Cron.GetCron(), location, kind.Cron.GetDayOr())
	case *orchv1.Schedule_Rrule:
		location, err := zone(kind.Rrule.Timezone)
		if err != nil {
			return nil, err
		}
		return schedule.ParseRRule(kind.Rrule.GetRrule(), location)
	default:
		return nil, fmt.Errorf("%w: neither interval nor cron nor rrule", schedule.ErrInvalid)
	}
}

// Reason is the error that clients get for an invalid schedule.
func Reason(err error) string {
	if invalid, ok := errors.AsType[*schedule.InvalidError](err); ok {
		return invalid.Message
	}
	return strings.TrimPrefix(err.Error(), schedule.ErrInvalid.Error()+": ")
}

// KindOf names the kind of a schedule, as the creator of its runs is shown.
func KindOf(s *orchv1.Schedule) string {
	switch s.GetKind().(type) {
	case *orchv1.Schedule_Cron:
		return "CronSchedule"
	case *orchv1.Schedule_Rrule:
		return "RRuleSchedule"
	default:
		return "IntervalSchedule"
	}
}

package deployments

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/google/uuid"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/orch-project/orch/pkg/rpc"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// schedule gives a deployment the schedules of a request, instead of those that it has.
func (a *asked) schedule(d *orchv1.Deployment) error {
	d.Schedules = nil
	for _, create := range a.create.GetSchedules() {
		schedule, err := newSchedule(create, d.GetId(), a.newID(), a.now)
		if err != nil {
			return err
		}
		d.Schedules = append(d.Schedules, schedule)
	}
	return distinctSlugs(d.GetSchedules())
}

// newSchedule is a schedule as it was asked for.
func newSchedule(create *orchv1.DeploymentScheduleCreate, deployment string, id uuid.UUID, now time.Time) (*orchv1.DeploymentSchedule, error) {
	times, err := settle(create.GetSchedule(), now)
	if err != nil {
		return nil, err
	}
	return &orchv1.DeploymentSchedule{
		Id:               id.String(),
		Created:          timestamppb.New(now),
		Updated:          timestamppb.New(now),
		DeploymentId:     &deployment,
		Schedule:         times,
		Active:           create.GetActive(),
		MaxScheduledRuns: create.MaxScheduledRuns,
		Parameters:       create.GetParameters(),
		Slug:             create.Slug,
	}, nil
}

// distinctSlugs refuses two schedules of one slug; no slug is none.
func distinctSlugs[S interface{ GetSlug() string }](schedules []S) error {
	seen := map[string]bool{}
	for _, s := range schedules {
		if s.GetSlug() == "" {
			continue
		}
		if seen[s.GetSlug()] {
			return rpc.Detail(http.StatusConflict, fmt.Sprintf("Data integrity conflict. Two schedules have the slug %q.", s.GetSlug()))
		}
		seen[s.GetSlug()] = true
	}
	return nil
}

// settle completes when a schedule makes runs, so that it means the same whenever it is read: intervals are counted
// from a moment, recurrences begin at one.
func settle(asked *orchv1.Schedule, now time.Time) (*orchv1.Schedule, error) {
	times := proto.Clone(asked).(*orchv1.Schedule)
	var zone *string
	switch kind := times.GetKind().(type) {
	case *orchv1.Schedule_Interval:
		if kind.Interval.GetInterval().AsDuration() <= 0 {
			return nil, rpc.Invalid(rpc.BodyError("greater_than", "Input should be greater than 0 seconds", "schedule", "interval"))
		}
		if kind.Interval.AnchorDate == nil {
			kind.Interval.AnchorDate = timestamppb.New(now)
		}
		if kind.Interval.Timezone == nil {
			kind.Interval.Timezone = new("UTC")
		}
		zone = kind.Interval.Timezone
	case *orchv1.Schedule_Cron:
		zone = kind.Cron.Timezone
	case *orchv1.Schedule_Rrule:
		kind.Rrule.Rrule = anchored(kind.Rrule.GetRrule())
		zone = kind.Rrule.Timezone
	}
	if zone != nil {
		// "Local" is the machine's own, which no client means.
		if _, err := time.LoadLocation(*zone); err != nil || *zone == "Local" {
			return nil, rpc.Invalid(rpc.BodyError("value_error", fmt.Sprintf("Value error, Invalid timezone: %q", *zone), "schedule", "timezone"))
		}
	}
	return times, nil
}

// anchored gives a recurrence the moment at which it begins, where it names none.
func anchored(rule string) string {
	if strings.Contains(strings.ToUpper(rule), "DTSTART") {
		return rule
	}
	if !strings.Contains(rule, ":") {
		rule = "RRULE:" + rule
	}
	return "DTSTART:20200101T000000\n" + rule
}

// errNoSchedule is the answer to a schedule that has no times and changes none that is there.
func errNoSchedule() error {
	return rpc.Detail(http.StatusUnprocessableEntity, "Unable to create new deployment schedules without a schedule configuration.")
}

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
	"github.com/orch-project/orch/pkg/schedule"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/schedules"
)

// schedule gives a deployment the schedules of a request, instead of those that it has.
func (a *createRequest) schedule(d *orchv1.Deployment) error {
	d.Schedules = nil
	for _, create := range a.create.GetSchedules() {
		added, err := newSchedule(create, d.GetId(), a.newID(), a.now)
		if err != nil {
			return err
		}
		d.Schedules = append(d.Schedules, added)
	}
	return distinctSlugs(d.GetSchedules())
}

// newSchedule is a schedule as it was asked for.
func newSchedule(create *orchv1.DeploymentScheduleCreate, deployment string, id uuid.UUID, now time.Time) (*orchv1.DeploymentSchedule, error) {
	times, err := settle(create.GetSchedule(), now)
	if err != nil {
		return nil, err
	}
	if err := checkMaxScheduledRuns(create.MaxScheduledRuns); err != nil {
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
		ScheduledUntil:   timestamppb.New(now),
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

// settle checks a schedule and completes when it makes runs, so that it means the same whenever it is read: intervals are
// counted from a time, recurrences begin at one.
func settle(asked *orchv1.Schedule, now time.Time) (*orchv1.Schedule, error) {
	if _, err := schedules.Parse(asked, now); err != nil {
		return nil, errSchedule(asked, err)
	}
	times := proto.CloneOf(asked)
	switch kind := times.GetKind().(type) {
	case *orchv1.Schedule_Interval:
		if kind.Interval.AnchorDate == nil {
			kind.Interval.AnchorDate = timestamppb.New(now)
		}
		if kind.Interval.Timezone == nil {
			kind.Interval.Timezone = new("UTC")
		}
	case *orchv1.Schedule_Rrule:
		kind.Rrule.Rrule = anchored(kind.Rrule.GetRrule())
	}
	return times, nil
}

// errSchedule is the response to a schedule that is not one.
func errSchedule(asked *orchv1.Schedule, err error) error {
	field := "interval"
	switch asked.GetKind().(type) {
	case *orchv1.Schedule_Cron:
		field = "cron"
	case *orchv1.Schedule_Rrule:
		field = "rrule"
	}
	reason := schedules.Reason(err)
	if strings.HasPrefix(reason, "Invalid timezone") {
		field = "timezone"
	}
	return rpc.Invalid(rpc.BodyError("value_error", "Value error, "+reason, "schedule", field))
}

// maxScheduledRuns bounds how many runs of a schedule may be asked for ahead.
const maxScheduledRuns = 50

func checkMaxScheduledRuns(asked *int64) error {
	if asked != nil && *asked > maxScheduledRuns {
		return rpc.Detail(http.StatusUnprocessableEntity, fmt.Sprintf("`max_scheduled_runs` must be less than or equal to %d.", maxScheduledRuns))
	}
	return nil
}

// anchored gives a recurrence the moment at which it begins, where it names none. A rule whose UNTIL has a zone stays as it
// is, because DTSTART would then need one.
func anchored(rule string) string {
	if schedule.HasStart(rule) {
		return rule
	}
	started := "DTSTART:20200101T000000\n" + rule
	if _, err := schedule.ParseRRule(started, time.UTC); err != nil {
		return rule
	}
	return started
}

// errNoSchedule is the answer to a schedule that has no times and changes none that is there.
func errNoSchedule() error {
	return rpc.Detail(http.StatusUnprocessableEntity, "Unable to create new deployment schedules without a schedule configuration.")
}

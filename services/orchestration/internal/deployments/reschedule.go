package deployments

import (
	"fmt"
	"net/http"
	"time"

	"github.com/google/uuid"

	"github.com/orch-project/orch/pkg/rpc"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// reschedule brings the schedules of an update to a deployment.
//
//	all existing and all given have slugs   those of one slug are changed, the others added; what is not named stays
//	all existing have, not all given have   refused: it is not clear which ones are meant
//	otherwise                               the given ones instead of the existing ones
//
// A schedule that replaces another one's slug takes its place and its id. Slugs to replace are those before the update, so two
// schedules may exchange theirs.
func reschedule(d *orchv1.Deployment, given []*orchv1.DeploymentScheduleUpdate, now time.Time, newID func() uuid.UUID) error {
	existing := d.GetSchedules()
	existingNamed := len(existing) > 0
	for _, s := range existing {
		existingNamed = existingNamed && s.Slug != nil
	}
	givenNamed := true
	for _, g := range given {
		givenNamed = givenNamed && g.Slug != nil
	}
	switch {
	case existingNamed && !givenNamed:
		return rpc.Detail(http.StatusUnprocessableEntity,
			"Please provide a slug for each schedule in your request to ensure schedules are updated correctly.")
	case !existingNamed:
		d.Schedules = nil
	}
	bySlug := map[string]int{}
	if existingNamed {
		for i, s := range existing {
			bySlug[s.GetSlug()] = i
		}
		if err := checkReplaced(bySlug, given); err != nil {
			return err
		}
	}
	if err := distinctSlugs(given); err != nil {
		return err
	}
	for _, g := range given {
		slug := g.GetSlug()
		if g.GetReplaces() != "" {
			slug = g.GetReplaces()
		}
		if at, found := bySlug[slug]; found {
			edited, err := overlaySchedule(d.GetSchedules()[at], g, sent(g), now)
			if err != nil {
				return err
			}
			d.Schedules[at] = edited
			continue
		}
		if g.Schedule == nil {
			return errNoSchedule()
		}
		added, err := newSchedule(&orchv1.DeploymentScheduleCreate{
			Schedule: g.GetSchedule(), Active: g.Active == nil || g.GetActive(), MaxScheduledRuns: g.MaxScheduledRuns,
			Parameters: g.GetParameters(), Slug: g.Slug,
		}, d.GetId(), newID(), now)
		if err != nil {
			return err
		}
		d.Schedules = append(d.Schedules, added)
	}
	return distinctSlugs(d.GetSchedules())
}

// checkReplaced rejects two schedules that replace the same one, and a new slug that another schedule keeps.
func checkReplaced(existing map[string]int, given []*orchv1.DeploymentScheduleUpdate) error {
	replaced := map[string]bool{}
	for _, g := range given {
		if g.GetReplaces() == "" {
			continue
		}
		if replaced[g.GetReplaces()] {
			return rpc.Detail(http.StatusUnprocessableEntity, "Multiple schedules have 'replaces' targeting the same slug: "+g.GetReplaces())
		}
		replaced[g.GetReplaces()] = true
	}
	for _, g := range given {
		if _, taken := existing[g.GetSlug()]; taken && g.GetReplaces() != "" && !replaced[g.GetSlug()] {
			return rpc.Detail(http.StatusUnprocessableEntity, fmt.Sprintf(
				"Cannot rename schedule from '%s' to '%s': a schedule with slug '%s' already exists.", g.GetReplaces(), g.GetSlug(), g.GetSlug()))
		}
	}
	return nil
}

// sent is the mask of an update below the top level of a request, where no mask tells null from absent: an optional field
// that is unset stays. Parameters are reset when they are absent, as by an update of one schedule.
func sent(g *orchv1.DeploymentScheduleUpdate) []string {
	return notNull(g, []string{"schedule", "active", "slug", "max_scheduled_runs", "parameters"})
}

package prefectdb

import (
	"context"
	"database/sql"
	"fmt"
	"strconv"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

func deployments() []Kind {
	return []Kind{{
		Name: "deployments", table: "deployment", resource: &orchv1.Deployment{}, create: &orchv1.DeploymentCreate{},
		columns: map[string]column{"job_variables": {"t", "infra_overrides"}, "work_pool_name": {"w", "name"}},
		joins: []join{
			{"q", "work_queue", "id", column{"t", "work_queue_id"}},
			{"w", "work_pool", "id", column{"q", "work_pool_id"}},
			{"l", "concurrency_limit_v2", "id", column{"t", "concurrency_limit_id"}},
		},
		extra: []column{{"q", "work_pool_id"}, {"t", "concurrency_limit"}, {"l", "id"}, {"l", "name"}, {"l", "limit"}},
		begin: schedules,
	}}
}

// schedules gives deployments their schedules, which have a table of their own, and what only the server knows.
func schedules(ctx context.Context, s *Source) (finish, error) {
	deployment := map[string]string{}
	query := "SELECT " + s.dialect.text("id", textValue) + ", " + s.dialect.text("deployment_id", textValue) + " FROM deployment_schedule"
	err := s.each(ctx, query, func(values []sql.RawBytes) error {
		deployment[string(values[0])] = string(values[1])
		return nil
	})
	if err != nil {
		return nil, err
	}
	all := map[string][]*orchv1.DeploymentSchedule{}
	broken := map[string]error{} // By deployment.
	kind := Kind{Name: "schedules", table: "deployment_schedule", resource: &orchv1.DeploymentSchedule{}}
	err = s.Each(ctx, kind, func(r Row) error {
		owner := deployment[r.ID]
		schedule, ok := r.Resource.(*orchv1.DeploymentSchedule)
		if !ok {
			broken[owner] = fmt.Errorf("schedule %s: %w", r.ID, r.Err)
			return nil
		}
		schedule.DeploymentId = &owner
		all[owner] = append(all[owner], schedule)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return func(m Resource, extra []value) (Resource, error) {
		d, ok := m.(*orchv1.Deployment)
		if !ok {
			return m, nil
		}
		if err := broken[d.GetId()]; err != nil {
			return nil, err
		}
		d.Schedules = all[d.GetId()]
		if pool := extra[0]; !pool.null {
			d.WorkPoolId = &pool.text
		}
		slots, limit := extra[1], extra[2]
		if !limit.null && extra[3].text == "deployment:"+d.GetId() { // Its own limit.
			slots, limit = extra[4], value{null: true}
		}
		switch {
		case !limit.null:
			d.ConcurrencyLimitId = &limit.text
		case !slots.null:
			n, err := strconv.ParseInt(slots.text, 10, 64)
			if err != nil {
				return nil, fmt.Errorf("read the concurrency limit: %w", err)
			}
			d.ConcurrencySlots = &n
		}
		return d, nil
	}, nil
}

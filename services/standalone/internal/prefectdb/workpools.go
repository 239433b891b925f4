package prefectdb

import (
	"context"
	"database/sql"
	"strconv"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

func workPools() []Kind {
	return []Kind{
		{Name: "work pools", table: "work_pool", resource: &orchv1.WorkPool{}, create: &orchv1.WorkPoolCreate{}, begin: priorities},
		{Name: "work queues", table: "work_queue", resource: &orchv1.WorkQueue{}, create: &orchv1.WorkQueueCreate{}},
		{Name: "workers", table: "worker", resource: &orchv1.Worker{}},
	}
}

// priorities gives pools the order of their queues.
func priorities(ctx context.Context, s *Source) (finish, error) {
	pools := map[string][]*orchv1.WorkQueuePriority{}
	d := s.dialect
	query := "SELECT " + d.text("work_pool_id", textValue) + ", " + d.text("id", textValue) + ", " + d.text("priority", numberValue) +
		" FROM work_queue WHERE work_pool_id IS NOT NULL ORDER BY work_pool_id, priority, id"
	err := s.each(ctx, query, func(values []sql.RawBytes) error {
		priority, err := strconv.ParseInt(string(values[2]), 10, 64)
		if err != nil {
			return err
		}
		pool := string(values[0])
		queues := pools[pool]
		if n := len(queues); n > 0 { // Equal priorities have no order; ours are distinct.
			priority = max(priority, queues[n-1].GetPriority()+1)
		}
		pools[pool] = append(queues, &orchv1.WorkQueuePriority{QueueId: string(values[1]), Priority: max(priority, 1)})
		return nil
	})
	return func(m Resource, _ []value) (Resource, error) {
		if pool, ok := m.(*orchv1.WorkPool); ok {
			pool.Priorities = pools[pool.GetId()]
		}
		return m, nil
	}, err
}

package events

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/orch-project/orch/services/orchestration/internal/query"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// Submission names the process worker that executes a flow run.
type Submission struct {
	WorkPool uuid.UUID
	// Worker is the name, unique within the work pool.
	Worker string
}

// Submission reads the last event, up to a time, by which a process worker says that it executes a flow run. Without one it returns
// store.ErrNotFound. The runs of other workers are executed elsewhere, and outlive them.
func (s *Service) Submission(ctx context.Context, ws, run uuid.UUID, until time.Time) (Submission, error) {
	found, err := s.events.Find(ctx, ws, store.Query{Index: query.EventsByAnyResource, Filter: bson.D{
		{Key: "resource_ids", Value: s.vocab.Name("flow-run", run.String())},
		{Key: "event", Value: s.vocab.Name("worker", "submitted-flow-run")},
		{Key: "occurred", Value: bson.D{{Key: "$lte", Value: until.UnixMicro()}}},
	}, Sort: bson.D{{Key: "occurred", Value: -1}, {Key: "_id", Value: -1}}, Limit: 1, Fields: []string{"resource", "related"}})
	if err != nil {
		return Submission{}, err
	}
	for _, e := range found {
		labels := e.GetResource().GetLabels()
		submission := Submission{Worker: labels[s.vocab.ResourceName()]}
		for _, related := range e.GetRelated() {
			text, pool := strings.CutPrefix(related.GetLabels()[s.vocab.ResourceID()], s.vocab.Name("work-pool", ""))
			if id, err := uuid.Parse(text); pool && err == nil {
				submission.WorkPool = id
			}
		}
		if strings.HasPrefix(labels[s.vocab.ResourceID()], s.vocab.Name("worker", "process", "")) && submission.WorkPool != uuid.Nil {
			return submission, nil
		}
	}
	return Submission{}, fmt.Errorf("find the process worker of flow run %s: %w", run, store.ErrNotFound)
}

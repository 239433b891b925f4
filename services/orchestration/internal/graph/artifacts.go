package graph

import (
	"context"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// Artifact types with special rules: graphs omit results, and include the data of progress artifacts.
const (
	result   = "result"
	progress = "progress"
)

// artifactsOf returns the artifacts of a flow run by task run; uuid.Nil holds those without one. Beyond the bound it
// returns the earliest.
func (s *Service) artifactsOf(ctx context.Context, ws, run uuid.UUID) (map[string][]*orchv1.GraphArtifact, error) {
	found, err := s.artifacts.Find(ctx, ws, store.Query{Filter: bson.D{
		{Key: "flow_run_id", Value: store.Binary(run)},
		{Key: "type", Value: bson.D{{Key: "$ne", Value: result}}},
	}, Sort: bson.D{{Key: "_id", Value: 1}}, Limit: s.maxArtifacts})
	if err != nil || len(found) == 0 {
		return nil, err
	}
	ids, err := binaries(found, (*orchv1.Artifact).GetId)
	if err != nil {
		return nil, err
	}
	latest := map[string]bool{}
	err = s.latest.Each(ctx, ws, store.Query{Filter: bson.D{{Key: "latest_id", Value: bson.D{{Key: "$in", Value: ids}}}}, Sort: bson.D{{Key: "_id", Value: 1}}},
		func(key *orchv1.ArtifactCollection) bool {
			latest[key.GetLatestId()] = true
			return true
		})
	if err != nil {
		return nil, err
	}
	made := map[string][]*orchv1.GraphArtifact{}
	for _, a := range found {
		// An artifact without a type is not a result.
		taskRun := uuid.Nil.String()
		if a.TaskRunId != nil {
			taskRun = a.GetTaskRunId()
		}
		shown := &orchv1.GraphArtifact{
			Id: a.GetId(), Created: a.GetCreated(), Key: a.Key, Type: a.Type, IsLatest: a.Key == nil || latest[a.GetId()],
		}
		if a.GetType() == progress {
			shown.Data = a.GetData()
		}
		made[taskRun] = append(made[taskRun], shown)
	}
	return made, nil
}

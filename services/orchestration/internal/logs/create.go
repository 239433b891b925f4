package logs

import (
	"context"
	"strings"
	"time"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"
	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/timestamppb"

	wire "github.com/orch-project/orch/pkg/logs"
	"github.com/orch-project/orch/pkg/request"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// CreateLogs stores logs and returns once all of them are durable.
func (s *Service) CreateLogs(ctx context.Context, r *orchv1.CreateLogsRequest) (*emptypb.Empty, error) {
	info, err := request.Incoming(ctx)
	if err != nil {
		return nil, err
	}
	db := s.logs.Store()
	now := db.Now()
	var expire time.Time
	if s.retention > 0 {
		expire = now.Add(s.retention)
	}
	created := timestamppb.New(now)
	all := make([]*orchv1.Log, len(r.GetLogs()))
	docs := make([]bson.Raw, len(all))
	for i, c := range r.GetLogs() {
		all[i] = &orchv1.Log{
			Id: db.NewID().String(), Created: created, Updated: created, Name: printable(c.GetName()), Level: c.GetLevel(),
			Message: printable(c.GetMessage()), Timestamp: c.GetTimestamp(), FlowRunId: c.FlowRunId, TaskRunId: c.TaskRunId,
		}
		if docs[i], err = store.NewDocument(info.Workspace, all[i], expire); err != nil {
			return nil, err
		}
	}
	if err := s.logs.InsertNew(ctx, docs); err != nil {
		return nil, err
	}
	s.publish(ctx, info.Workspace, all)
	return &emptypb.Empty{}, nil
}

// publish sends stored logs to the live feed. Subscribers find missed logs in the store.
func (s *Service) publish(ctx context.Context, ws uuid.UUID, all []*orchv1.Log) {
	messages, err := wire.Split(all)
	for _, message := range messages {
		if err == nil {
			err = s.show(ws, message)
		}
	}
	if err != nil {
		s.log.WarnContext(ctx, "failed to publish stored logs to the live feed", "logs", len(all), "error", err)
	}
}

// printable removes NUL bytes, which many log readers cannot process.
func printable(text string) string { return strings.ReplaceAll(text, "\x00", "") }

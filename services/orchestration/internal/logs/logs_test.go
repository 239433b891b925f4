package logs

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"
	"google.golang.org/protobuf/types/known/timestamppb"
	"pgregory.net/rapid"

	"github.com/orch-project/orch/pkg/clock"
	wire "github.com/orch-project/orch/pkg/logs"
	"github.com/orch-project/orch/pkg/testkit"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/resourceid/requesttest"
	"github.com/orch-project/orch/services/orchestration/internal/store/storetest"
)

func TestMain(m *testing.M) { testkit.Main(m) }

func service(t *testing.T, retention time.Duration) *Service {
	t.Helper()
	return New(Deps{
		Store: storetest.Embedded(t, clock.System{}), Retention: retention,
		Show: func(uuid.UUID, []byte) error { return nil }, Log: slog.New(slog.DiscardHandler),
	})
}

func TestRetention(t *testing.T) {
	t.Parallel()
	for _, retention := range []time.Duration{0, time.Hour} {
		s := service(t, retention)
		ws := uuid.New()
		_, err := s.CreateLogs(requesttest.Incoming(t, ws), &orchv1.CreateLogsRequest{Logs: []*orchv1.LogCreate{{Message: "a", Timestamp: timestamppb.Now()}}})
		require.NoError(t, err)
		var rows []struct {
			Expire *time.Time `bson:"expire_at"`
		}
		require.NoError(t, s.logs.Aggregate(t.Context(), ws, nil, []bson.D{{{Key: "$project", Value: bson.D{{Key: "expire_at", Value: 1}}}}}, &rows))
		require.Len(t, rows, 1)
		if retention == 0 {
			require.Nil(t, rows[0].Expire)
			continue
		}
		require.WithinDuration(t, time.Now().Add(retention), *rows[0].Expire, time.Minute)
	}
}

// The store finds the logs that the matcher of passing logs accepts.
func TestFiltersMeanTheSameLive(t *testing.T) {
	t.Parallel()
	s := service(t, 0)
	ids := []string{uuid.NewString(), uuid.NewString(), uuid.NewString()}
	vocab := []string{"reading", "a FILE", "wrote", "100%", "a.b"}
	noon := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	incoming := func(ws uuid.UUID) context.Context { return requesttest.Incoming(t, ws) }
	rapid.Check(t, func(t *rapid.T) {
		one := func(name string, from []string) string { return rapid.SampledFrom(from).Draw(t, name) }
		some := func(name string) bool { return rapid.Bool().Draw(t, name) }
		level := rapid.Int64Range(1, 5)
		second := rapid.IntRange(0, 5)
		at := func(name string) *timestamppb.Timestamp {
			return timestamppb.New(noon.Add(time.Duration(second.Draw(t, name)) * time.Second))
		}
		ctx := incoming(uuid.New())
		var all []*orchv1.LogCreate
		for range rapid.IntRange(0, 12).Draw(t, "logs") {
			log := &orchv1.LogCreate{Name: one("name", vocab), Message: one("message", vocab), Level: level.Draw(t, "level"), Timestamp: at("time")}
			if some("of a run") {
				log.FlowRunId = new(one("run", ids))
			}
			if some("of a task") {
				log.TaskRunId = new(one("task", ids))
			}
			all = append(all, log)
		}
		_, err := s.CreateLogs(ctx, &orchv1.CreateLogsRequest{Logs: all})
		require.NoError(t, err)
		stored, err := s.ReadLogs(ctx, &orchv1.ReadLogsRequest{})
		require.NoError(t, err)
		for range 5 {
			f := &orchv1.LogFilter{Operator: rapid.SampledFrom([]orchv1.Operator{orchv1.Operator_OPERATOR_AND, orchv1.Operator_OPERATOR_OR}).Draw(t, "operator")}
			if some("by level") {
				f.Level = &orchv1.LogFilterLevel{Ge_: new(level.Draw(t, "ge")), Le_: new(level.Draw(t, "le"))}
			}
			if some("by time") {
				f.Timestamp = &orchv1.TimeFilter{After_: at("after")}
			}
			if some("by run") {
				f.FlowRunId = &orchv1.AnyUuidFilter{Any_: &orchv1.UuidList{Values: []string{one("run", ids)}}}
			}
			if some("by task") {
				f.TaskRunId = &orchv1.LogFilterTaskRunId{IsNull_: new(some("null"))}
			}
			if some("by text") {
				f.Text = &orchv1.LogFilterTextSearch{Query: one("sign", []string{"", "-", "+"}) + one("term", []string{"file", "READING", "a.", "%", "nothing"})}
			}
			if some("by logger") {
				f.Name = &orchv1.AnyStringFilter{Any_: &orchv1.StringList{Values: []string{one("logger", vocab)}}}
			}
			found, err := s.ReadLogs(ctx, &orchv1.ReadLogsRequest{Query: &orchv1.LogQuery{Logs: f}})
			require.NoError(t, err)
			got := map[string]bool{}
			for _, log := range found.GetLogs() {
				got[log.GetId()] = true
			}
			passing := wire.NewMatcher(f)
			for _, log := range stored.GetLogs() {
				require.Equal(t, passing.Match(log), got[log.GetId()], "%v\n%v", f, log)
			}
		}
	})
}

// TestPartsOfADownloadAreBounded: a part ends before it exceeds its bytes. The client reads the next one behind it.
func TestPartsOfADownloadAreBounded(t *testing.T) {
	t.Parallel()
	s := service(t, 0)
	ws := uuid.New()
	ctx := requesttest.Incoming(t, ws)
	run := &orchv1.FlowRun{Id: uuid.NewString()}
	require.NoError(t, s.flowRuns.Insert(ctx, ws, run))
	const length = 1 << 20
	stored, size := 0, 0
	testkit.FillBound(t, "a part of a download of logs", maxPartBytes, func() bool {
		stored++
		require.NoError(t, s.logs.Insert(ctx, ws, &orchv1.Log{
			Id: s.logs.Store().NewID().String(), FlowRunId: &run.Id, Message: strings.Repeat("m", length), Timestamp: timestamppb.Now(),
		}))
		body, err := s.DownloadFlowRunLogs(ctx, &orchv1.DownloadFlowRunLogsRequest{Id: run.GetId()})
		require.NoError(t, err)
		size = len(body.GetData()) / length * length
		return size < stored*length
	}, func() int { return size })
}

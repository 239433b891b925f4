package orchestration_test

import (
	"encoding/csv"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"google.golang.org/genproto/googleapis/api/httpbody"
	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/orch-project/orch/pkg/broker"
	wirelogs "github.com/orch-project/orch/pkg/logs"
	"github.com/orch-project/orch/pkg/request"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// say stores logs of a flow run, one a second from start on, their levels 10, 20, … 50 in turn.
func (d *domain) say(flowRun string, start time.Time, messages ...string) {
	d.t.Helper()
	var all []*orchv1.LogCreate
	for i, message := range messages {
		all = append(all, &orchv1.LogCreate{
			Name: "orch.flow_runs", Level: int64(10 + 10*(i%5)), Message: message,
			Timestamp: timestamppb.New(start.Add(time.Duration(i) * time.Second)), FlowRunId: &flowRun,
		})
	}
	call[*emptypb.Empty](d, orchv1.LogService_CreateLogs_FullMethodName, &orchv1.CreateLogsRequest{Logs: all})
}

func (d *domain) said(q *orchv1.LogQuery) []string {
	d.t.Helper()
	messages := []string{}
	for _, log := range call[*orchv1.LogList](d, orchv1.LogService_ReadLogs_FullMethodName, &orchv1.ReadLogsRequest{Query: q}).GetLogs() {
		messages = append(messages, log.GetMessage())
	}
	return messages
}

func TestLogsAreReadBack(t *testing.T) {
	t.Parallel()
	d := newDomain(t)
	one, other := uuid.NewString(), uuid.NewString()
	start := time.Date(2026, 11, 22, 12, 0, 0, 123456000, time.UTC)
	d.say(one, start, "a", "b", "c", "d\x00!", "e")
	d.say(other, start.Add(time.Hour), "f")
	task := uuid.NewString()
	call[*emptypb.Empty](d, orchv1.LogService_CreateLogs_FullMethodName, &orchv1.CreateLogsRequest{Logs: []*orchv1.LogCreate{
		{Name: "of a task", Level: 20, Message: "g", Timestamp: timestamppb.New(start.Add(2 * time.Hour)), TaskRunId: &task},
	}})
	ofRun := func(id string) *orchv1.AnyUuidFilter {
		return &orchv1.AnyUuidFilter{Any_: &orchv1.UuidList{Values: []string{id}}}
	}
	at := func(seconds int) *timestamppb.Timestamp {
		return timestamppb.New(start.Add(time.Duration(seconds) * time.Second))
	}
	for name, c := range map[string]struct {
		q    *orchv1.LogQuery
		want []string
	}{
		"all, oldest first":  {nil, []string{"a", "b", "c", "d!", "e", "f", "g"}},
		"newest first":       {&orchv1.LogQuery{Sort: orchv1.LogSort_LOG_SORT_TIMESTAMP_DESC, Limit: &orchv1.PageLimit{Value: 2}}, []string{"g", "f"}},
		"from an offset":     {&orchv1.LogQuery{Offset: 5}, []string{"f", "g"}},
		"of a run":           {&orchv1.LogQuery{Logs: &orchv1.LogFilter{FlowRunId: ofRun(other)}}, []string{"f"}},
		"of a task run":      {&orchv1.LogQuery{Logs: &orchv1.LogFilter{TaskRunId: &orchv1.LogFilterTaskRunId{Any_: ofRun(task).Any_}}}, []string{"g"}},
		"of no task run":     {&orchv1.LogQuery{Logs: &orchv1.LogFilter{TaskRunId: &orchv1.LogFilterTaskRunId{IsNull_: new(true)}}, Limit: &orchv1.PageLimit{Value: 1}}, []string{"a"}},
		"from a level":       {&orchv1.LogQuery{Logs: &orchv1.LogFilter{Level: &orchv1.LogFilterLevel{Ge_: new(int64(40))}}}, []string{"d!", "e"}},
		"between two levels": {&orchv1.LogQuery{Logs: &orchv1.LogFilter{Level: &orchv1.LogFilterLevel{Ge_: new(int64(20)), Le_: new(int64(30))}}}, []string{"b", "c", "g"}},
		"between two times":  {&orchv1.LogQuery{Logs: &orchv1.LogFilter{Timestamp: &orchv1.TimeFilter{After_: at(1), Before_: at(2)}}}, []string{"b", "c"}},
		"by text":            {&orchv1.LogQuery{Logs: &orchv1.LogFilter{Text: &orchv1.LogFilterTextSearch{Query: "A"}}}, []string{"a", "g"}},
		"by text, not":       {&orchv1.LogQuery{Logs: &orchv1.LogFilter{Text: &orchv1.LogFilterTextSearch{Query: `a -"of a"`}}}, []string{"a"}},
		"by logger":          {&orchv1.LogQuery{Logs: &orchv1.LogFilter{Name: &orchv1.AnyStringFilter{Any_: &orchv1.StringList{Values: []string{"of a task"}}}}}, []string{"g"}},
		"one or the other": {&orchv1.LogQuery{Logs: &orchv1.LogFilter{
			Operator: orchv1.Operator_OPERATOR_OR, FlowRunId: ofRun(other), Level: &orchv1.LogFilterLevel{Ge_: new(int64(50))},
		}}, []string{"e", "f"}},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, c.want, d.said(c.q), name)
		})
	}
	log := call[*orchv1.LogList](d, orchv1.LogService_ReadLogs_FullMethodName, &orchv1.ReadLogsRequest{}).GetLogs()[0]
	require.Equal(t, start, log.GetTimestamp().AsTime())
	require.Equal(t, one, log.GetFlowRunId())
	require.NotNil(t, log.GetCreated())
	_, _, err := try[*orchv1.LogList](d, orchv1.LogService_ReadLogs_FullMethodName,
		&orchv1.ReadLogsRequest{Query: &orchv1.LogQuery{Limit: &orchv1.PageLimit{Value: 201}}})
	code, _ := status(err)
	require.Equal(t, http.StatusUnprocessableEntity, code)
	strangers, _, err := tryIn[*orchv1.LogList](d, uuid.New(), orchv1.LogService_ReadLogs_FullMethodName, &orchv1.ReadLogsRequest{})
	require.NoError(t, err)
	require.Empty(t, strangers.GetLogs())
}

func TestLogsAreShownLive(t *testing.T) {
	t.Parallel()
	d := newDomain(t)
	type shown struct {
		ws   uuid.UUID
		logs []*orchv1.Log
	}
	all, subscribed := make(chan shown, 1), make(chan struct{})
	done := make(chan error, 1)
	go func() {
		done <- d.broker.Live(wirelogs.Feed).Subscribe(t.Context(), func(ws uuid.UUID, message []byte) {
			read, err := wirelogs.Read(message)
			if err == nil {
				all <- shown{ws, read}
			}
		}, broker.OnReady(func() { close(subscribed) }))
	}()
	<-subscribed
	run := uuid.NewString()
	d.say(run, time.Now(), "a", "b")
	got := <-all
	require.Equal(t, request.DefaultWorkspace, got.ws)
	require.Len(t, got.logs, 2)
	require.Equal(t, "b", got.logs[1].GetMessage())
	require.NotEmpty(t, got.logs[1].GetId())
	t.Cleanup(func() { require.NoError(t, <-done) })
}

func TestLogsAreDownloaded(t *testing.T) {
	t.Parallel()
	d := newDomain(t)
	run := d.run(d.flow("f"), func(c *orchv1.FlowRunCreate) { c.Name = "a run; \"quoted\"" })
	start := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	var messages []string
	for i := range 2500 {
		messages = append(messages, fmt.Sprintf("line %d,\n\"quoted\"", i))
	}
	d.say(run.GetId(), start, messages...)
	var file []byte
	var cursor string
	for parts := 1; ; parts++ {
		body, reply, err := try[*httpbody.HttpBody](d, orchv1.FlowRunLogService_DownloadFlowRunLogs_FullMethodName,
			&orchv1.DownloadFlowRunLogsRequest{Id: run.GetId(), Cursor: cursor})
		require.NoError(t, err)
		if cursor == "" {
			require.Equal(t, "text/csv; charset=utf-8", body.GetContentType())
			require.Equal(t, `attachment; filename="flow-run-logs.csv"; filename*=UTF-8''a%20run%3B%20%22quoted%22-logs.csv`, reply.Header["content-disposition"])
		}
		file = append(file, body.GetData()...)
		if cursor = reply.Next; cursor == "" {
			require.Equal(t, 3, parts)
			break
		}
	}
	rows, err := csv.NewReader(strings.NewReader(string(file))).ReadAll()
	require.NoError(t, err)
	require.Len(t, rows, 2501)
	require.Contains(t, string(file), "\"line 0,\n\"\"quoted\"\"\",,\r\n", "a line within a message ends as it was written")
	require.Equal(t, []string{"timestamp", "level", "flow_run_id", "task_run_id", "message", "worker_id", "worker_name"}, rows[0])
	require.Equal(t, []string{"2026-11-22 12:00:00+00:00", "10", run.GetId(), "", messages[0], "", ""}, rows[1])
	for i, row := range rows[1:] {
		require.Equal(t, messages[i], row[4])
	}

	_, _, err = try[*httpbody.HttpBody](d, orchv1.FlowRunLogService_DownloadFlowRunLogs_FullMethodName,
		&orchv1.DownloadFlowRunLogsRequest{Id: uuid.NewString()})
	code, text := status(err)
	require.Equal(t, http.StatusNotFound, code)
	require.Equal(t, "Flow run not found", text)
}

func TestLogsGoWithTheirFlowRun(t *testing.T) {
	t.Parallel()
	d := newDomain(t)
	gone, stays := d.run(d.flow("f")), d.run(d.flow("f"))
	d.say(gone.GetId(), time.Now(), "a", "b")
	d.say(stays.GetId(), time.Now(), "c")
	call[*emptypb.Empty](d, orchv1.FlowRunService_DeleteFlowRun_FullMethodName, &orchv1.DeleteFlowRunRequest{Id: gone.GetId()})
	eventually(t, func() bool { return len(d.said(nil)) == 1 }, "the logs are deleted")
	require.Equal(t, []string{"c"}, d.said(nil))
}

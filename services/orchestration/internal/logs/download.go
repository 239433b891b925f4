package logs

import (
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"
	"google.golang.org/genproto/googleapis/api/httpbody"

	"github.com/orch-project/orch/pkg/rpc"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/resourceid"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// A part of a response has at most downloadPart logs, and maxPartBytes or one log.
const (
	downloadPart = 1000
	maxPartBytes = 8 << 20
)

// columns are those of the reference's 3.9.5. Lines name no worker, so the last two are empty.
var columns = []string{"timestamp", "level", "flow_run_id", "task_run_id", "message", "worker_id", "worker_name"}

// DownloadFlowRunLogs returns all logs of a flow run as CSV, oldest first, in parts.
func (s *Service) DownloadFlowRunLogs(ctx context.Context, r *orchv1.DownloadFlowRunLogsRequest) (*httpbody.HttpBody, error) {
	ws, id, err := resourceid.FromRequest(ctx, r.GetId())
	if err != nil {
		return nil, notFound(err)
	}
	var file bytes.Buffer
	rows := table{&file, csv.NewWriter(&file)}
	ofRun := bson.D{{Key: "flow_run_id", Value: store.Binary(id)}}
	if r.GetCursor() == "" {
		if err := s.begin(ctx, ws, id, rows); err != nil {
			return nil, err
		}
	} else if ofRun, err = beyond(ofRun, r.GetCursor()); err != nil {
		return nil, err
	}
	logs, more, err := s.logs.Page(ctx, ws, store.Query{
		Filter: ofRun,
		Sort:   bson.D{{Key: "timestamp", Value: 1}, {Key: "_id", Value: 1}}, Limit: downloadPart, Bytes: maxPartBytes,
	})
	if err != nil {
		return nil, err
	}
	for _, log := range logs {
		rows.add(
			log.GetTimestamp().AsTime().Format("2006-01-02 15:04:05.999999-07:00"), strconv.FormatInt(log.GetLevel(), 10),
			log.GetFlowRunId(), log.GetTaskRunId(), log.GetMessage(), "", "",
		)
	}
	if more {
		last := logs[len(logs)-1]
		if err := rpc.SetNext(ctx, strconv.FormatInt(last.GetTimestamp().AsTime().UnixMicro(), 10)+"/"+last.GetId()); err != nil {
			return nil, err
		}
	}
	return &httpbody.HttpBody{ContentType: "text/csv; charset=utf-8", Data: file.Bytes()}, nil
}

// begin writes the header row and the suggested file name.
func (s *Service) begin(ctx context.Context, ws, id uuid.UUID, rows table) error {
	run, err := s.flowRuns.Get(ctx, ws, id)
	if err != nil {
		return notFound(err)
	}
	name := strings.ReplaceAll(url.QueryEscape(run.GetName()+"-logs.csv"), "+", "%20")
	err = rpc.SetHeader(ctx, "Content-Disposition", `attachment; filename="flow-run-logs.csv"; filename*=UTF-8''`+name)
	rows.add(columns...)
	return err
}

// table writes comma-separated values with the line ends of RFC 4180. Line breaks within a message stay unchanged,
// which csv.Writer does not support.
type table struct {
	file *bytes.Buffer
	rows *csv.Writer
}

func (t table) add(fields ...string) {
	_ = t.rows.Write(fields) // A buffer accepts every write.
	t.rows.Flush()
	t.file.Truncate(t.file.Len() - len("\n"))
	t.file.WriteString("\r\n")
}

// beyond restricts a filter to the logs after a cursor.
func beyond(filter bson.D, cursor string) (bson.D, error) {
	at, text, _ := strings.Cut(cursor, "/")
	micros, err := strconv.ParseInt(at, 10, 64)
	if err != nil {
		return nil, fmt.Errorf("read a cursor: %w", err)
	}
	id, err := uuid.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("read a cursor: %w", err)
	}
	return append(filter,
		bson.E{Key: "timestamp", Value: bson.D{{Key: "$gte", Value: micros}}},
		bson.E{Key: "$or", Value: bson.A{
			bson.D{{Key: "timestamp", Value: bson.D{{Key: "$gt", Value: micros}}}},
			bson.D{{Key: "_id", Value: bson.D{{Key: "$gt", Value: store.Binary(id)}}}},
		}}), nil
}

func notFound(err error) error {
	if errors.Is(err, store.ErrNotFound) {
		return rpc.Detail(http.StatusNotFound, "Flow run not found")
	}
	return err
}

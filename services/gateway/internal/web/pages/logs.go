package pages

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/orch-project/orch/pkg/rpc"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/gateway/internal/web/apicall"
	"github.com/orch-project/orch/services/gateway/internal/web/markup"
	"github.com/orch-project/orch/services/gateway/internal/web/page"
	"github.com/orch-project/orch/services/gateway/internal/web/show"
)

const (
	// logLines is the number of lines of a page: logCalls calls of logBatch lines.
	logCalls, logBatch = 5, 200
	logLines           = logCalls * logBatch
	// maxLogQuery is the longest query in bytes that the API takes.
	maxLogQuery = 200
)

// logsView is the data of a page of log lines.
type logsView struct {
	Rows                      []show.LogLine
	Levels, Loggers, Attempts []choice
	Q, Path                   string
	Hidden                    []hiddenField
	Earlier, Later            string
	// Download leads to the whole log as CSV, and DownloadShown to the lines of the page as text.
	Download, DownloadShown string
	Brief                   bool
	// Problem replaces lines that cannot be read.
	Problem      string
	OnlyFailures string
	// Part is how a live page takes new lines: "append" if they come last, otherwise "swap".
	Part string
	Sort string
}

// Log returns the lines.
func (v *logsView) Log() markup.Markup { return show.Log(v.Rows, !v.Brief) }

// levels are the severities with their least number.
var levels = []struct {
	name  string
	least int64
}{{"debug", 10}, {"info", 20}, {"warning", 30}, {"error", 40}, {"critical", 50}}

func levelOf(number int64) string {
	name := "debug"
	for _, l := range levels {
		if number >= l.least {
			name = l.name
		}
	}
	return name
}

func logRows(r *page.Request, logs []*orchv1.Log) []show.LogLine {
	rows := make([]show.LogLine, 0, len(logs))
	clock := clockOf(r)
	for i, l := range logs {
		row := show.LogLine{
			Number: i + 1, Level: levelOf(l.GetLevel()), Logger: show.Line(l.GetName(), 60),
			Message: show.Middle(show.Visible(l.GetMessage()), 20_000), Time: clock.Plain(l.GetTimestamp()),
		}
		if l.TaskRunId != nil {
			row.Task = r.To("runs", "task-run", l.GetTaskRunId())
		}
		rows = append(rows, row)
	}
	return rows
}

// readLogs reads the lines of a page.
func readLogs(r *page.Request, f logFilter, filter apicall.JSON) ([]*orchv1.Log, error) {
	sort := map[string]string{"oldest": "TIMESTAMP_ASC", "newest": "TIMESTAMP_DESC"}[f.Order]
	var parts []*apicall.Unary[*orchv1.LogList]
	var calls []apicall.Call
	for i := range logCalls {
		part := apicall.NewShared[*orchv1.LogList](orchv1.LogService_ReadLogs_FullMethodName, apicall.Input{Body: apicall.JSON{
			"logs": filter, "sort": sort, "limit": logBatch, "offset": f.Skip + i*logBatch,
		}})
		parts, calls = append(parts, part), append(calls, part)
	}
	// Most runs have few lines: the first call tells whether the others have anything to read.
	if err := r.Call(calls[0]); err != nil {
		return nil, err
	}
	logs := slices.Clip(parts[0].Result().GetLogs()) // The answer is shared.
	if len(logs) == logBatch {
		if err := r.Call(calls[1:]...); err != nil {
			return nil, err
		}
		for _, part := range parts[1:] {
			logs = append(logs, part.Result().GetLogs()...)
		}
	}
	return logs, nil
}

// showLogs returns a page of the lines that the address selects.
func showLogs(r *page.Request, from logSource) (*logsView, error) {
	f, err := readLogFilter(r)
	if err != nil {
		return nil, err
	}
	filter, err := f.body(from)
	if err != nil {
		return nil, err
	}
	logs, err := readLogs(r, f, filter)
	problem := page.Problem(err)
	if err != nil && (problem == "" || rpc.HTTPError(err).GetStatus() < http.StatusInternalServerError) {
		return nil, err
	}
	v := &logsView{
		Problem: problem, Part: map[string]string{"oldest": "append", "newest": "swap"}[f.Order], Q: f.Q, Path: r.Path(), Sort: f.Order,
		Levels: f.levelChoices(), Loggers: f.loggerChoices(logs), Attempts: f.attemptChoices(from.states), Hidden: hiddenFields(r, "at", "tz"),
		OnlyFailures: r.Here("level", "error", "skip", ""), Rows: logRows(r, logs),
	}
	for i := range v.Rows {
		v.Rows[i].Number += f.Skip
	}
	if len(logs) > 0 {
		v.DownloadShown = from.path + "/lines"
		if query := r.HTTP.URL.RawQuery; query != "" {
			v.DownloadShown += "?" + query
		}
	}
	if len(logs) == logLines {
		v.Later = r.Here("skip", show.Digits(f.Skip+logLines))
	}
	if f.Skip > 0 {
		v.Earlier = r.Here("skip", show.Digits(max(f.Skip-logLines, 0)))
	}
	return v, nil
}

// sendLines sends the lines that a page of them shows as a text file.
func sendLines(w http.ResponseWriter, r *page.Request, from logSource) error {
	f, err := readLogFilter(r)
	if err != nil {
		return err
	}
	filter, err := f.body(from)
	if err != nil {
		return err
	}
	logs, err := readLogs(r, f, filter)
	if err != nil {
		return err
	}
	var text strings.Builder
	for _, l := range logs {
		text.WriteString(l.GetTimestamp().AsTime().In(r.Zone).Format(time.RFC3339Nano) + " " + strings.ToUpper(levelOf(l.GetLevel())) + " " + l.GetName() + " " + l.GetMessage() + "\n")
	}
	w.Header().Set("Content-Disposition", "attachment; filename="+r.Vars["id"]+".log")
	w.Header().Set("Cache-Control", "no-store")
	r.Write(w, "text/plain; charset=utf-8", []byte(text.String()))
	return nil
}

// logsOfFlowRun is the source of the lines of a flow run and its tasks. The number of its attempts is 0 if unknown.
func logsOfFlowRun(r *page.Request, id string, at time.Time, count int64) logSource {
	return logSource{
		run: apicall.JSON{"flow_run_id": any_([]string{id})}, states: statesOfAttempts(r, flowRunStatesOf(id), count), at: at, path: r.To("runs", "flow-run", id, "logs"),
	}
}

// flowRunLogs shows the log of the run.
func flowRunLogs(r *page.Request, h flowRunHead, v *flowRunView) error {
	logs, err := showLogs(r, logsOfFlowRun(r, h.run.GetId(), h.at, h.run.GetRunCount()))
	if err != nil {
		return err
	}
	logs.Download = r.To("runs", "flow-run", h.run.GetId(), "logs", "download")
	v.Logs = logs
	return nil
}

// logDownloads are the files of a flow run's log: all lines as CSV, and those of a page as text.
func logDownloads() []page.Page {
	return []page.Page{
		{
			Pattern: "/runs/flow-run/{id}/logs/download",
			Section: "/runs",
			Needs:   []string{orchv1.FlowRunLogService_DownloadFlowRunLogs_FullMethodName},
			Serve: func(w http.ResponseWriter, r *page.Request) error {
				w.Header().Set("Content-Disposition", "attachment; filename="+r.Vars["id"]+".csv")
				return r.Forward(w, &url.URL{Path: "/flow_runs/" + r.Vars["id"] + "/logs/download"})
			},
		},
		{
			Pattern: "/runs/flow-run/{id}/logs/lines",
			Section: "/runs",
			Needs:   []string{orchv1.LogService_ReadLogs_FullMethodName},
			Uses:    []string{orchv1.FlowRunStateService_ReadFlowRunStates_FullMethodName},
			Serve: func(w http.ResponseWriter, r *page.Request) error {
				return sendLines(w, r, logsOfFlowRun(r, r.Vars["id"], r.AsOf(), 0))
			},
		},
	}
}

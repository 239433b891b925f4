package pages

import (
	"net/http"
	"net/url"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/gateway/internal/web/ask"
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
	Rows           []logRow
	Levels         []choice
	Q, Path        string
	Earlier, Later string
	Download       string
	Brief          bool
	OnlyFailures   string
	// Part is how a live page takes new lines: "append" if they come last, otherwise "swap".
	Part string
	Sort string
}

// logRow is a log line.
type logRow struct {
	Number               int
	Class, Level, Logger string
	Message              string
	Time                 markup.Markup
	Task                 string
}

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

func logRows(r *page.Request, logs []*orchv1.Log) []logRow {
	rows := make([]logRow, 0, len(logs))
	clock := clockOf(r)
	for i, l := range logs {
		row := logRow{
			Number: i + 1, Class: levelOf(l.GetLevel()), Level: levelOf(l.GetLevel()), Logger: show.Line(l.GetName(), 60),
			Message: show.Middle(show.Visible(l.GetMessage()), 20_000), Time: clock.Plain(l.GetTimestamp()),
		}
		if l.TaskRunId != nil {
			row.Task = r.To("runs", "task-run", l.GetTaskRunId())
		}
		rows = append(rows, row)
	}
	return rows
}

// readLogs reads a page of the lines that a filter selects. The parameters are level, q, skip and order.
func readLogs(r *page.Request, filter ask.JSON) (*logsView, error) {
	names := []string{"all"}
	for _, l := range levels {
		names = append(names, l.name)
	}
	level, q := r.Word("level", names...), r.Text("q")
	skip, order := r.Int("skip", 0, 10_000_000, 0), r.Word("sort", "oldest", "newest")
	if err := r.Err(); err != nil {
		return nil, err
	}
	v := &logsView{Part: map[string]string{"oldest": "append", "newest": "swap"}[order], Q: q, Path: r.Path(), Sort: order, OnlyFailures: r.Here("level", "error", "skip", "")}
	for _, name := range names {
		v.Levels = append(v.Levels, choice{Value: name, Title: name, Selected: name == level})
	}
	for _, l := range levels {
		if l.name == level {
			filter["level"] = ask.JSON{"ge_": l.least}
		}
	}
	if q != "" {
		filter["text"] = ask.JSON{"query": show.Prefix(q, maxLogQuery)}
	}
	sort := map[string]string{"oldest": "TIMESTAMP_ASC", "newest": "TIMESTAMP_DESC"}[order]
	var parts []*ask.Of[*orchv1.LogList]
	var questions []ask.Question
	for i := range logCalls {
		part := ask.New[*orchv1.LogList](orchv1.LogService_ReadLogs_FullMethodName, ask.Input{Body: ask.JSON{
			"logs": filter, "sort": sort, "limit": logBatch, "offset": skip + i*logBatch,
		}})
		parts, questions = append(parts, part), append(questions, part)
	}
	// Most runs have few lines: the first call tells whether the others have anything to read.
	if err := r.Ask(questions[0]); err != nil {
		return nil, err
	}
	logs := parts[0].Answer().GetLogs()
	if len(logs) == logBatch {
		if err := r.Ask(questions[1:]...); err != nil {
			return nil, err
		}
		for _, part := range parts[1:] {
			logs = append(logs, part.Answer().GetLogs()...)
		}
	}
	v.Rows = logRows(r, logs)
	for i := range v.Rows {
		v.Rows[i].Number += skip
	}
	if len(logs) == logLines {
		v.Later = r.Here("skip", show.Digits(skip+logLines))
	}
	if skip > 0 {
		v.Earlier = r.Here("skip", show.Digits(max(skip-logLines, 0)))
	}
	return v, nil
}

// flowRunLogs shows the log of the run.
func flowRunLogs(r *page.Request, h flowRunHead, v *flowRunView) error {
	logs, err := readLogs(r, logsUntil(ask.JSON{"flow_run_id": any_([]string{h.run.GetId()})}, h.at))
	if err != nil {
		return err
	}
	logs.Download = r.To("runs", "flow-run", h.run.GetId(), "logs", "download")
	v.Logs = logs
	return nil
}

// logDownload sends the whole log as CSV.
func logDownload(pattern string) page.Page {
	return page.Page{
		Pattern: pattern,
		Section: "/runs",
		Needs:   []string{orchv1.FlowRunLogService_DownloadFlowRunLogs_FullMethodName},
		Serve: func(w http.ResponseWriter, r *page.Request) error {
			w.Header().Set("Content-Disposition", "attachment; filename="+r.Vars["id"]+".csv")
			return r.Forward(w, &url.URL{Path: "/flow_runs/" + r.Vars["id"] + "/logs/download"})
		},
	}
}

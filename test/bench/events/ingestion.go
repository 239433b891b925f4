package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/google/uuid"

	"github.com/orch-project/orch/test/bench/beside"
)

// batch is the number of events or logs of one request.
const batch = 50

// ingestion is one kind of ingested data.
type ingestion struct {
	name string
	// Floor is the minimum ratio of Orch to the reference.
	floor float64
	// Prepare returns the request of a round, and a function that counts the readable results of the round; its
	// argument is the expected count.
	prepare func(s *beside.Server) (op beside.Op, readable func(want int64) (int64, error))
}

// events returns the ingestion of task run events with the size of the Python client's. ids generates their ids.
func events(ids string, newID func() uuid.UUID) ingestion {
	prepare := func(s *beside.Server) (beside.Op, func(int64) (int64, error)) {
		name, flowRun := "bench."+uuid.NewString(), uuid.NewString()
		op := func(c *beside.Conn, _ int) error {
			now := time.Now().UTC().Format(time.RFC3339Nano)
			body := []byte{'['}
			for i := range batch {
				if i > 0 {
					body = append(body, ',')
				}
				body = fmt.Appendf(body, `{"id":%q,"occurred":%q,"event":%q,"resource":{"prefect.resource.id":"prefect.task-run.%s",`+
					`"prefect.resource.name":"task-305","prefect.run-count":"1","prefect.state-name":"Running","prefect.state-type":"RUNNING"},`+
					`"related":[{"prefect.resource.id":"prefect.flow-run.%s","prefect.resource.role":"flow-run","prefect.resource.name":"run-3"}],`+
					`"payload":{"intended":{"from":"PENDING","to":"RUNNING"},"initial_state":{"type":"PENDING","name":"Pending","message":"","state_details":{}},`+
					`"validated_state":{"type":"RUNNING","name":"Running","message":"","state_details":{},"data":null}}}`,
					newID().String(), now, name, uuid.NewString(), flowRun)
			}
			_, err := c.Call(http.MethodPost, "/events", append(body, ']'), http.StatusNoContent)
			return err
		}
		return op, func(int64) (int64, error) {
			var page struct {
				Total int64 `json:"total"`
			}
			err := ask(s, "/events/filter", fmt.Sprintf(`{"filter":{"event":{"name":[%q]}},"limit":1}`, name), &page)
			return page.Total, err
		}
	}
	return ingestion{"events, ids " + ids, 10, prepare}
}

// byTime generates time-ordered ids, as the Python client does; other clients generate random ones.
func byTime() uuid.UUID { return uuid.Must(uuid.NewV7()) }

// logs returns the ingestion of logs of one flow run. It reads them by offset, because the API does not count them.
var logs = ingestion{"logs", 5, func(s *beside.Server) (beside.Op, func(int64) (int64, error)) {
	flowRun := uuid.NewString()
	op := func(c *beside.Conn, _ int) error {
		now := time.Now().UTC().Format(time.RFC3339Nano)
		body := []byte{'['}
		for i := range batch {
			if i > 0 {
				body = append(body, ',')
			}
			body = append(body, `{"name":"prefect.flow_runs","level":20,"message":"Message number `...)
			body = append(strconv.AppendInt(body, int64(i), 10), ` of a run, which is of a usual length","timestamp":"`...)
			body = append(append(append(append(body, now...), `","flow_run_id":"`...), flowRun...), `"}`...)
		}
		_, err := c.Call(http.MethodPost, "/logs/", append(body, ']'), http.StatusCreated)
		return err
	}
	return op, func(want int64) (int64, error) {
		var last []json.RawMessage
		err := ask(s, "/logs/filter", fmt.Sprintf(`{"logs":{"flow_run_id":{"any_":[%q]}},"limit":1,"offset":%d}`, flowRun, want-1), &last)
		if len(last) == 0 {
			return 0, err
		}
		return want, err
	}
}}

// ask sends a request on a new connection and decodes the response.
func ask(s *beside.Server, path, body string, into any) error {
	c := s.Conn()
	defer c.Close()
	answer, err := c.Call(http.MethodPost, path, []byte(body), http.StatusOK)
	if err != nil {
		return err
	}
	text, err := answer.Text()
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, into); err != nil {
		return fmt.Errorf("decode response of %s: %w", path, err)
	}
	return nil
}

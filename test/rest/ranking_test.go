package rest_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The worlds of testdata/ranking.jsonl: pools, queues, deployments and runs, and the responses of the reference to
// polls and changes. Times are seconds since the start of a replay.
type (
	world struct {
		ID          string            `json:"id"`
		Pools       []worldPool       `json:"pools"`
		Deployments []worldDeployment `json:"deployments"`
		Runs        []worldRun        `json:"runs"`
		Steps       []worldStep       `json:"steps"`
	}
	worldPool struct {
		Name   string       `json:"name"`
		Type   string       `json:"type"`
		Limit  *int         `json:"limit"`
		Paused bool         `json:"paused"`
		Queues []worldQueue `json:"queues"`
	}
	worldQueue struct {
		Name     string `json:"name"`
		Priority *int   `json:"priority"`
		Limit    *int   `json:"limit"`
		Paused   bool   `json:"paused"`
	}
	worldDeployment struct{ Name, Pool, Queue string }
	worldRun        struct {
		Name       string       `json:"name"`
		Deployment string       `json:"deployment"`
		Queue      string       `json:"queue"`
		Retries    int          `json:"retries"`
		RetryDelay int          `json:"retry_delay"`
		States     []worldState `json:"states"`
	}
	worldState struct {
		Type  string   `json:"type"`
		Name  string   `json:"name"`
		At    *float64 `json:"at"`
		Force *bool    `json:"force"`
	}
	worldStep struct {
		Do          string          `json:"do"`
		Pool        string          `json:"pool"`
		Queue       string          `json:"queue"`
		Queues      []string        `json:"queues"`
		Deployments []string        `json:"deployments"`
		Before      *float64        `json:"before"`
		After       *float64        `json:"after"`
		Limit       *int            `json:"limit"`
		Body        map[string]any  `json:"body"`
		State       worldState      `json:"state"`
		RunName     json.RawMessage `json:"run"`
		Expect      json.RawMessage `json:"expect"`
	}
)

// TestRanking replays every world and compares every response: the runs of a poll, their order, and the effects of
// limits, pauses and priorities.
func TestRanking(t *testing.T) {
	t.Parallel()
	file, err := os.Open("testdata/ranking.jsonl")
	require.NoError(t, err)
	defer file.Close()
	s := start(t, "ORCH_LATE_RUNS_EVERY", "0", "ORCH_FOREMAN_EVERY", "0")
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	answers := 0
	for n := 0; lines.Scan(); n++ {
		var w world
		require.NoError(t, json.Unmarshal(lines.Bytes(), &w))
		r := &replay{t: t, s: s, world: w, suffix: fmt.Sprintf("-%d", n), began: time.Now().UTC(), ids: map[string]string{}, names: map[string]string{}}
		r.build()
		for i, step := range w.Steps {
			got, err := json.Marshal(r.step(step))
			require.NoError(t, err)
			require.JSONEq(t, string(step.Expect), string(got), "world %s, step %d: %s", w.ID, i, step.Do)
			answers++
		}
	}
	require.NoError(t, lines.Err())
	t.Logf("%d answers are those of the reference", answers)
}

// replay is a world on the server. Names get a suffix, so that worlds do not collide.
type replay struct {
	t      *testing.T
	s      *server
	world  world
	suffix string
	began  time.Time
	// ids are the ids of runs and deployments by name, names the names of runs by id.
	ids, names map[string]string
}

func (r *replay) at(offset *float64) string {
	return r.began.Add(time.Duration(*offset * float64(time.Second))).Format("2006-01-02T15:04:05.000000Z")
}

func (r *replay) queue(name string) string {
	if name == "default" {
		return name
	}
	return name + r.suffix
}

func (r *replay) pool(name string) string { return "/work_pools/" + url.PathEscape(name+r.suffix) }

// call sends a body and decodes the response into out, which may be nil.
func (r *replay) call(method, path string, body, out any) int {
	r.t.Helper()
	text := ""
	if body != nil {
		raw, err := json.Marshal(body)
		require.NoError(r.t, err)
		text = string(raw)
	}
	got := r.s.send(method, path, text, nil)
	if out != nil && got.status < 300 {
		require.NoError(r.t, json.Unmarshal(got.body, out), "%s", got.body)
	}
	return got.status
}

// must is call for requests that build the world.
func (r *replay) must(method, path string, body, out any) {
	r.t.Helper()
	status := r.call(method, path, body, out)
	require.Less(r.t, status, 300, "world %s: %s %s", r.world.ID, method, path)
}

type identified struct {
	ID string `json:"id"`
}

func (r *replay) build() {
	var flow identified
	r.must("POST", "/flows/", map[string]any{"name": "ranking" + r.suffix}, &flow)
	for _, p := range r.world.Pools {
		body := map[string]any{"name": p.Name + r.suffix, "type": "process"}
		if p.Type != "" {
			body["type"] = p.Type
		}
		if p.Limit != nil {
			body["concurrency_limit"] = *p.Limit
		}
		r.must("POST", "/work_pools/", body, nil)
		for _, q := range p.Queues {
			r.addQueue(p, q)
		}
	}
	for _, d := range r.world.Deployments {
		body := map[string]any{"name": d.Name + r.suffix, "flow_id": flow.ID, "enforce_parameter_schema": false}
		if d.Pool != "" {
			body["work_pool_name"] = d.Pool + r.suffix
		}
		if d.Queue != "" {
			body["work_queue_name"] = r.queue(d.Queue)
		}
		var made identified
		r.must("POST", "/deployments/", body, &made)
		r.ids["deployment "+d.Name] = made.ID
	}
	for _, run := range r.world.Runs {
		r.addRun(run)
	}
	for _, p := range r.world.Pools {
		for _, q := range p.Queues {
			if q.Paused {
				r.must("PATCH", r.pool(p.Name)+"/queues/"+r.queue(q.Name), map[string]any{"is_paused": true}, nil)
			}
		}
		if p.Paused {
			r.must("PATCH", r.pool(p.Name), map[string]any{"is_paused": true}, nil)
		}
	}
}

func (r *replay) addQueue(p worldPool, q worldQueue) {
	body := map[string]any{}
	if q.Priority != nil {
		body["priority"] = *q.Priority
	}
	if q.Limit != nil {
		body["concurrency_limit"] = *q.Limit
	}
	if q.Name != "default" {
		body["name"] = r.queue(q.Name)
		r.must("POST", r.pool(p.Name)+"/queues", body, nil)
	} else if len(body) > 0 {
		r.must("PATCH", r.pool(p.Name)+"/queues/default", body, nil)
	}
}

func (r *replay) state(s worldState) map[string]any {
	state := map[string]any{"type": s.Type}
	if s.Name != "" {
		state["name"] = s.Name
	}
	if s.Type == "SCHEDULED" {
		state["state_details"] = map[string]any{"scheduled_time": r.at(s.At)}
	}
	return state
}

func (r *replay) addRun(run worldRun) {
	body := map[string]any{"name": run.Name, "state": r.state(run.States[0])}
	if run.Queue != "" {
		body["work_queue_name"] = r.queue(run.Queue)
	}
	if run.Retries > 0 {
		body["empirical_policy"] = map[string]any{"retries": run.Retries, "retry_delay": run.RetryDelay}
	}
	var made identified
	r.must("POST", "/deployments/"+r.ids["deployment "+run.Deployment]+"/create_flow_run", body, &made)
	r.ids[run.Name], r.names[made.ID] = made.ID, run.Name
	for _, state := range run.States[1:] {
		r.setState(run.Name, state)
	}
}

func (r *replay) setState(run string, s worldState) {
	force := s.Force == nil || *s.Force
	r.must("POST", "/flow_runs/"+r.ids[run]+"/set_state", map[string]any{"state": r.state(s), "force": force}, nil)
}

type statusOnly struct {
	Status int `json:"status"`
}

// step executes a step and returns its response with the names of the world.
func (r *replay) step(s worldStep) any {
	body := map[string]any{}
	if s.Before != nil {
		body["scheduled_before"] = r.at(s.Before)
	}
	if s.After != nil {
		body["scheduled_after"] = r.at(s.After)
	}
	if s.Limit != nil {
		body["limit"] = *s.Limit
	}
	switch s.Do {
	case "poll":
		return r.poll(s, body)
	case "poll_queue":
		var queue identified
		r.must("GET", r.pool(s.Pool)+"/queues/"+r.queue(s.Queue), nil, &queue)
		return r.runs("/work_queues/"+queue.ID+"/get_runs", body)
	case "poll_deployments":
		ids := []string{}
		for _, name := range s.Deployments {
			ids = append(ids, r.ids["deployment "+name])
		}
		body["deployment_ids"] = ids
		return r.runs("/deployments/get_scheduled_flow_runs", body)
	case "queues":
		var queues []struct {
			Name     string `json:"name"`
			Priority int    `json:"priority"`
		}
		r.must("POST", r.pool(s.Pool)+"/queues/filter", map[string]any{}, &queues)
		list := [][2]any{}
		for _, q := range queues {
			list = append(list, [2]any{strings.TrimSuffix(q.Name, r.suffix), q.Priority})
		}
		return list
	case "slots":
		return r.slots(s.Pool)
	case "patch_pool":
		return statusOnly{r.call("PATCH", r.pool(s.Pool), s.Body, nil)}
	case "patch_queue":
		return statusOnly{r.call("PATCH", r.pool(s.Pool)+"/queues/"+r.queue(s.Queue), s.Body, nil)}
	case "add_queue":
		s.Body["name"] = r.queue(s.Body["name"].(string))
		return statusOnly{r.call("POST", r.pool(s.Pool)+"/queues", s.Body, nil)}
	case "delete_queue":
		return statusOnly{r.call("DELETE", r.pool(s.Pool)+"/queues/"+r.queue(s.Queue), nil, nil)}
	case "state":
		var name string
		require.NoError(r.t, json.Unmarshal(s.RunName, &name))
		r.setState(name, s.State)
		return "ok"
	case "run":
		var run worldRun
		require.NoError(r.t, json.Unmarshal(s.RunName, &run))
		r.addRun(run)
		return "ok"
	}
	r.t.Fatalf("world %s: unknown step %s", r.world.ID, s.Do)
	return nil
}

func (r *replay) poll(s worldStep, body map[string]any) any {
	if s.Queues != nil {
		names := []string{}
		for _, name := range s.Queues {
			names = append(names, r.queue(name))
		}
		body["work_queue_names"] = names
	}
	var got []struct {
		WorkPoolID  string     `json:"work_pool_id"`
		WorkQueueID string     `json:"work_queue_id"`
		FlowRun     identified `json:"flow_run"`
	}
	if status := r.call("POST", r.pool(s.Pool)+"/get_scheduled_flow_runs", body, &got); status != 200 {
		return statusOnly{status}
	}
	var queues []struct{ ID, Name string }
	r.must("POST", r.pool(s.Pool)+"/queues/filter", map[string]any{}, &queues)
	names := map[string]string{}
	for _, q := range queues {
		names[q.ID] = strings.TrimSuffix(q.Name, r.suffix)
	}
	list := [][2]string{}
	for _, one := range got {
		list = append(list, [2]string{r.names[one.FlowRun.ID], names[one.WorkQueueID]})
	}
	return list
}

// runs polls with one of the older operations.
func (r *replay) runs(path string, body map[string]any) any {
	var got []identified
	if status := r.call("POST", path, body, &got); status != 200 {
		return statusOnly{status}
	}
	list := []string{}
	for _, one := range got {
		list = append(list, r.names[one.ID])
	}
	return list
}

func (r *replay) slots(pool string) any {
	var got struct {
		ActiveSlots int `json:"active_slots"`
		Queues      []struct {
			Name        string `json:"queue_name"`
			ActiveSlots int    `json:"active_slots"`
		} `json:"queues"`
	}
	r.must("POST", r.pool(pool)+"/concurrency_status", map[string]any{}, &got)
	queues := [][2]any{}
	for _, q := range got.Queues {
		queues = append(queues, [2]any{strings.TrimSuffix(q.Name, r.suffix), q.ActiveSlots})
	}
	slices.SortFunc(queues, func(a, b [2]any) int { return strings.Compare(a[0].(string), b[0].(string)) })
	return [2]any{got.ActiveSlots, queues}
}

package standalone_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"testing"

	"github.com/coder/websocket"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

// worker opens the socket of a task worker.
func (s *server) worker(name string, keys ...string) *client {
	s.t.Helper()
	c := s.open("/task_runs/subscriptions/scheduled")
	list, err := json.Marshal(keys)
	require.NoError(s.t, err)
	c.send(fmt.Sprintf(`{"type":"subscribe","keys":%s,"client_id":%q}`, list, name))
	return c
}

// deferred makes a run that waits for a worker.
func (s *server) deferred(key string) (id string) {
	s.t.Helper()
	var run struct{ ID string }
	require.Equal(s.t, http.StatusCreated, s.ask(http.MethodPost, "/task_runs/",
		`{"task_key":"`+key+`","dynamic_key":"`+uuid.NewString()+`","state":{"type":"SCHEDULED","state_details":{"deferred":true}}}`, &run))
	return run.ID
}

func (c *client) run() string {
	c.t.Helper()
	var run struct {
		ID    string
		State struct{ Type string }
	}
	require.NoError(c.t, json.Unmarshal([]byte(c.receive()), &run))
	require.Equal(c.t, "SCHEDULED", run.State.Type)
	return run.ID
}

func TestTaskWorkersKeepToTheProtocol(t *testing.T) {
	t.Parallel()
	s := start(t, t.TempDir())
	for first, reason := range map[string]string{
		`nonsense`:             "Protocol violation: expected 'subscribe' message",
		`{"type":"filter"}`:    "Protocol violation: expected 'subscribe' message",
		`{"type":"subscribe"}`: "Protocol violation: expected 'keys' in subscribe message",
		`{"type":"subscribe","keys":[],"client_id":"a"}`: "Protocol violation: expected 'keys' in subscribe message",
		`{"type":"subscribe","keys":["a"]}`:              "Protocol violation: expected 'client_id' in subscribe message",
	} {
		c := s.open("/task_runs/subscriptions/scheduled")
		c.send(first)
		code, text := c.closed()
		require.EqualValues(t, 4001, code, first)
		require.Equal(t, reason, text)
	}
	id := s.deferred("violated")
	for _, answer := range []string{`{"type":"what"}`, `nonsense`} {
		c := s.worker("w", "violated")
		require.Equal(t, id, c.run())
		c.send(answer)
		code, _ := c.closed()
		require.EqualValues(t, 4001, code)
	}
	idle := s.worker("idle", "nothing")
	idle.send(`{"type":"quit"}`)
	code, _ := idle.closed()
	require.Equal(t, websocket.StatusNormalClosure, code)
	quits := s.worker("w", "violated")
	require.Equal(t, id, quits.run())
	quits.send(`{"type":"quit"}`)
	code, _ = quits.closed()
	require.Equal(t, websocket.StatusNormalClosure, code)
	require.Equal(t, id, s.worker("w", "violated").run())
}

// The code with which a socket ends must not race with the end of what reads from it, which cuts the connection.
func TestTaskWorkersLearnWhyTheyEnd(t *testing.T) {
	t.Parallel()
	s := start(t, t.TempDir())
	for range 100 {
		c := s.worker("w", "none")
		c.send(`{"type":"ack"}`)
		code, reason := c.closed()
		require.EqualValues(t, 4001, code)
		require.Contains(t, reason, "expected 'ack' message")
	}
}

// TestTaskRunsAreOfferedUntilTaken: before and after workers come, again when one is lost, also over a restart, and not
// any more when taken.
func TestTaskRunsAreOfferedUntilTaken(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := start(t, dir)
	early := s.deferred("a")
	one := s.worker("one", "a", "b")
	require.Equal(t, early, one.run())
	one.send(`{"type":"ack"}`)
	late := s.deferred("b")
	require.Equal(t, late, one.run(), "woken")

	var workers []struct {
		Identifier string
		TaskKeys   []string `json:"task_keys"`
	}
	require.Equal(t, 200, s.ask(http.MethodPost, "/task_workers/filter", `{"task_worker_filter":{"task_keys":["b","c"]}}`, &workers))
	require.Len(t, workers, 1)
	require.Equal(t, "one", workers[0].Identifier)
	require.Equal(t, []string{"a", "b"}, workers[0].TaskKeys)
	require.Equal(t, 200, s.ask(http.MethodPost, "/task_workers/filter", `{"task_worker_filter":{"task_keys":["c"]}}`, &workers))
	require.Empty(t, workers)

	two := s.worker("two", "b")
	require.NoError(t, one.CloseNow()) // Lost: what it had not taken is another's.
	require.Equal(t, late, two.run())
	require.Eventually(t, func() bool {
		return s.ask(http.MethodPost, "/task_workers/filter", "", &workers) == 200 && len(workers) == 1 && workers[0].Identifier == "two"
	}, waitTimeout, tick)
	s.stop()

	again := start(t, dir)
	three := again.worker("three", "a", "b")
	require.Equal(t, late, three.run(), "what was not taken is offered after a restart")
	three.send(`{"type":"ack"}`)
	last := again.deferred("a")
	require.Equal(t, last, three.run(), "what was taken is not")
}

// TestTaskRunsAreWithOneWorkerAtATime: many workers, many runs, each taken once.
func TestTaskRunsAreWithOneWorkerAtATime(t *testing.T) {
	t.Parallel()
	s := start(t, t.TempDir())
	const workers, runs = 8, 120
	taken := make(chan string, 2*runs)
	for i := range workers {
		c := s.worker(fmt.Sprint("w", i), "k")
		go func() {
			for {
				_, data, err := c.Read(t.Context())
				if err != nil {
					return
				}
				var run struct{ ID string }
				if json.Unmarshal(data, &run) != nil || c.Write(t.Context(), websocket.MessageText, []byte(`{"type":"ack"}`)) != nil {
					return
				}
				taken <- run.ID
			}
		}()
	}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range runs / 4 {
				s.deferred("k")
			}
		})
	}
	wg.Wait()
	seen := map[string]bool{}
	for range runs {
		id := <-taken
		require.False(t, seen[id], "taken twice")
		seen[id] = true
	}
	require.Empty(t, taken)
}

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/orch-project/orch/test/bench/beside"
)

// client calls one server's API.
type client struct {
	http *http.Client
	api  string
}

// newClient returns a client with at most so many idle connections, and the function that closes them.
func newClient(s *beside.Server, conns int) (*client, func()) {
	transport := &http.Transport{MaxIdleConnsPerHost: conns}
	return &client{&http.Client{Transport: transport}, "http://" + s.Address + "/api"}, transport.CloseIdleConnections
}

func (c *client) post(ctx context.Context, path string, body, out any) error {
	raw, err := json.Marshal(body)
	if err != nil {
		return fmt.Errorf("encode request: %w", err)
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, c.api+path, bytes.NewReader(raw))
	if err != nil {
		return fmt.Errorf("create request: %w", err)
	}
	r.Header.Set("Content-Type", "application/json")
	response, err := c.http.Do(r)
	if err != nil {
		return fmt.Errorf("post %s: %w", path, err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return fmt.Errorf("read response of %s: %w", path, err)
	}
	if response.StatusCode >= http.StatusMultipleChoices {
		return fmt.Errorf("post %s: status %d: %.200s", path, response.StatusCode, text)
	}
	if out == nil {
		return nil
	}
	return json.Unmarshal(text, out)
}

type identified struct {
	ID string `json:"id"`
}

// bulk is the largest number of runs that one call creates.
const bulk = 100

// prepare creates pools, deployments and runs; runs are due one after the other, the first ones now.
func (l load) prepare(ctx context.Context, c *client) error {
	var flow identified
	if err := c.post(ctx, "/flows/", map[string]any{"name": "bench"}, &flow); err != nil {
		return err
	}
	now := time.Now().UTC()
	for p := range l.pools {
		pool := fmt.Sprintf("pool-%d", p)
		if err := c.post(ctx, "/work_pools/", map[string]any{"name": pool, "type": "process"}, nil); err != nil {
			return err
		}
		var deployment identified
		err := c.post(ctx, "/deployments/", map[string]any{"name": pool, "flow_id": flow.ID, "work_pool_name": pool}, &deployment)
		if err != nil {
			return err
		}
		for first := 0; first < l.runs/l.pools; first += bulk {
			runs := make([]map[string]any, min(bulk, l.runs/l.pools-first))
			for i := range runs {
				due := now.Add(time.Duration(first+i) * time.Second)
				runs[i] = map[string]any{"state": map[string]any{"type": "SCHEDULED", "state_details": map[string]any{"scheduled_time": due}}}
			}
			if err := c.post(ctx, "/deployments/"+deployment.ID+"/create_flow_run/bulk", runs, nil); err != nil {
				return err
			}
		}
	}
	return nil
}

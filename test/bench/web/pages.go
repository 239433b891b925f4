package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/orch-project/orch/test/bench/beside"
)

// bench is a server with runs.
type bench struct {
	options

	server *beside.Server
	run    string
}

type object = map[string]any

func (b *bench) address(path string) string { return "http://" + b.server.Address + path }

// post sends a JSON body and decodes the response into a target that is not nil.
func (b *bench) post(path string, body, target any) error {
	encoded, err := json.Marshal(body)
	if err != nil {
		return fmt.Errorf("encode body: %w", err)
	}
	response, err := http.Post(b.address("/api"+path), "application/json", bytes.NewReader(encoded))
	if err != nil {
		return fmt.Errorf("post %s: %w", path, err)
	}
	defer func() { _ = response.Body.Close() }() // It was read.
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return fmt.Errorf("read response of %s: %w", path, err)
	}
	if response.StatusCode >= http.StatusMultipleChoices {
		return fmt.Errorf("post %s: status %d: %s", path, response.StatusCode, text)
	}
	if target == nil {
		return nil
	}
	return json.Unmarshal(text, target)
}

// seed creates a run with task runs and log lines.
func (b *bench) seed() error {
	var flow, run struct{ ID string }
	if err := b.post("/flows/", object{"name": "bench-web"}, &flow); err != nil {
		return err
	}
	if err := b.post("/flow_runs/", object{"flow_id": flow.ID, "state": object{"type": "RUNNING"}}, &run); err != nil {
		return err
	}
	b.run = run.ID
	const batch = 100
	for from := 0; from < b.taskRuns; from += batch {
		var logs []object
		for i := from; i < min(from+batch, b.taskRuns); i++ {
			task := object{"flow_run_id": run.ID, "task_key": "load", "dynamic_key": strconv.Itoa(i), "name": fmt.Sprintf("load-%d", i), "state": object{"type": "RUNNING"}}
			if err := b.post("/task_runs/", task, nil); err != nil {
				return err
			}
			logs = append(logs, object{
				"name": "flow_runs", "level": 20, "message": fmt.Sprintf("line %d of a log", i),
				"timestamp": time.Now().UTC().Format(time.RFC3339Nano), "flow_run_id": run.ID,
			})
		}
		if err := b.post("/logs/", logs, nil); err != nil {
			return err
		}
	}
	return nil
}

// pages measures the first byte of each page, and their sizes.
func (b *bench) pages(ctx context.Context, t *table) error {
	newest, err := time.Parse(time.RFC3339, b.newest)
	if err != nil {
		return fmt.Errorf("parse -newest: %w", err)
	}
	window := func(length time.Duration) string {
		return url.Values{"from": {newest.Add(-length).Format(time.RFC3339)}, "to": {newest.Format(time.RFC3339)}}.Encode()
	}
	day := window(24 * time.Hour)
	const page, chart = 40.0, 100.0 // Kilobytes.
	for _, p := range []struct {
		name, path string
		budget     time.Duration
		size       float64
	}{
		{"home", "/?" + day, 150 * time.Millisecond, page},
		{"runs", "/runs?" + day, 120 * time.Millisecond, page},
		{"runs, failed", "/runs?state=FAILED&" + day, 120 * time.Millisecond, page},
		{"runs, histogram", "/runs?chart=histogram&" + day, 120 * time.Millisecond, page},
		{fmt.Sprintf("run of %d tasks", b.taskRuns), "/runs/flow-run/" + b.run, 120 * time.Millisecond, page},
		{"logs", "/runs/flow-run/" + b.run + "/logs", 80 * time.Millisecond, page},
		{"events", "/events", 100 * time.Millisecond, page},
	} {
		took, size, err := b.read(ctx, func(int64) string { return p.path }, b.readers)
		if err != nil {
			return err
		}
		t.time(p.name+", p95 of the first byte", took, p.budget)
		t.number(p.name+", compressed", size, p.size, "kB")
	}
	scatter := func(shift time.Duration) string {
		to := newest.Add(-shift)
		return "/runs/scatter.svg?" + url.Values{
			"from": {to.Add(-time.Duration(b.scatterRuns) * time.Second).Format(time.RFC3339)}, "to": {to.Format(time.RFC3339)},
		}.Encode()
	}
	for _, c := range []struct {
		name string
		path func(int64) string
	}{
		{"new", func(i int64) string { return scatter(time.Duration(i) * time.Second) }}, // Nobody else has asked for this window.
		{"shared", func(int64) string { return scatter(0) }},
	} {
		took, size, err := b.read(ctx, c.path, 1)
		if err != nil {
			return err
		}
		t.time(fmt.Sprintf("scatter of %d runs, %s, p95 whole", b.scatterRuns, c.name), took, 150*time.Millisecond)
		t.number("scatter, "+c.name+", compressed", size, chart, "kB")
	}
	return nil
}

// read requests a page by concurrent readers for a round. The path may depend on the number of the request. It returns the 95th percentile of the time to the first byte and the
// compressed size in kilobytes.
func (b *bench) read(ctx context.Context, path func(int64) string, readers int) (p95 time.Duration, size float64, err error) {
	client := &http.Client{Transport: &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: readers}}
	defer client.CloseIdleConnections()
	var mu sync.Mutex
	var all []time.Duration
	var group sync.WaitGroup
	var number atomic.Int64
	deadline := time.Now().Add(b.round)
	for range readers {
		group.Go(func() {
			for first := true; first || time.Now().Before(deadline); first = false {
				took, n, failure := b.once(ctx, client, path(number.Add(1)))
				mu.Lock()
				all, size = append(all, took), float64(n)/1000
				if failure != nil {
					err = failure
				}
				mu.Unlock()
				if failure != nil {
					return
				}
			}
		})
	}
	group.Wait()
	if err != nil {
		return 0, 0, err
	}
	slices.Sort(all)
	return all[len(all)*95/100], size, nil
}

// once requests a page as a browser does, and returns the time to the first byte.
func (b *bench) once(ctx context.Context, client *http.Client, path string) (time.Duration, int64, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, b.address(path), nil)
	if err != nil {
		return 0, 0, fmt.Errorf("build request: %w", err)
	}
	request.Header.Set("Accept", "text/html")
	request.Header.Set("Accept-Encoding", "gzip")
	start := time.Now()
	response, err := client.Do(request)
	took := time.Since(start)
	if err != nil {
		return 0, 0, fmt.Errorf("get %s: %w", path, err)
	}
	n, err := io.Copy(io.Discard, response.Body)
	if closing := response.Body.Close(); err == nil {
		err = closing
	}
	if err != nil {
		return 0, 0, fmt.Errorf("read %s: %w", path, err)
	}
	if response.StatusCode != http.StatusOK {
		return 0, 0, fmt.Errorf("get %s: status %d", path, response.StatusCode)
	}
	return took, n, nil
}

var (
	staticPath = regexp.MustCompile(`/static/[0-9a-f]+/`)
	imports    = regexp.MustCompile(`from "\./([a-z]+\.js)"`)
)

// assets measures the scripts and styles of a page.
func (b *bench) assets(_ context.Context, t *table) error {
	home, _, err := b.text("/")
	if err != nil {
		return err
	}
	base := staticPath.FindString(home)
	seen, scripts := map[string]bool{}, 0
	for queue := []string{"start.js"}; len(queue) > 0; queue = queue[1:] {
		if seen[queue[0]] {
			continue
		}
		seen[queue[0]] = true
		text, size, err := b.text(base + queue[0])
		if err != nil {
			return err
		}
		scripts += size
		for _, match := range imports.FindAllStringSubmatch(text, -1) {
			queue = append(queue, match[1])
		}
	}
	_, style, err := b.text(base + "orch.css")
	if err != nil {
		return err
	}
	t.number("scripts of a page, compressed", float64(scripts)/1000, 10, "kB")
	t.number("style, compressed", float64(style)/1000, 7, "kB")
	t.number("requests of a page", float64(len(seen)+3), 8, "requests") // The page, its style and its icon.
	return nil
}

// text returns a file and its compressed size.
func (b *bench) text(path string) (string, int, error) {
	response, err := http.Get(b.address(path))
	if err != nil {
		return "", 0, fmt.Errorf("get %s: %w", path, err)
	}
	text, err := io.ReadAll(response.Body)
	if closing := response.Body.Close(); err == nil {
		err = closing
	}
	if err != nil {
		return "", 0, fmt.Errorf("read %s: %w", path, err)
	}
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	if _, err := z.Write(text); err != nil {
		return "", 0, fmt.Errorf("compress %s: %w", path, err)
	}
	if err := z.Close(); err != nil {
		return "", 0, fmt.Errorf("compress %s: %w", path, err)
	}
	return string(text), packed.Len(), nil
}

package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/orch-project/orch/pkg/broker"
	"github.com/orch-project/orch/pkg/embeddednats"
	"github.com/orch-project/orch/test/bench/beside"
)

// template is a typical template for GitHub, in the vocabulary of the other benchmarks' servers.
const template = `{
    "event": "github.push",
    "resource": {"prefect.resource.id": "github.repository.{{ body.repository.full_name }}", "prefect.resource.name": "{{ body.repository.name }}"},
    "related": [{% for c in body.commits %}{"prefect.resource.id": "github.commit.{{ c.id }}", "prefect.resource.role": "commit"}{% if not loop.last %},{% endif %}{% endfor %}],
    "payload": {"message": {{ body.head_commit.message|tojson }}, "branch": {{ body.ref.split('/')[-1]|tojson }}, "pusher": {{ body.pusher|tojson }}}
}`

// endless is a template that exhausts its budget.
const endless = `{% for i in range(1000000) %}{% for j in range(1000000) %}{{ i * j }}{% endfor %}{% endfor %}`

// body is 1 KiB of a GitHub request.
var body = func() []byte {
	const head = `{"ref":"refs/heads/main","before":"6113728f27ae82c7b1a177c8d03f9e96e0adf246","after":"0d1a26e67d8f5eaf1f6ba5c57fc3c7d91ac0fd1c",` +
		`"repository":{"id":35129377,"name":"public-repo","full_name":"baxterthehacker/public-repo","private":false},"pusher":{"name":"baxterthehacker",` +
		`"email":"baxterthehacker@users.noreply.github.com"},"commits":[{"id":"0d1a26e67d8f5eaf1f6ba5c57fc3c7d91ac0fd1c","distinct":true}],` +
		`"head_commit":{"id":"0d1a26e67d8f5eaf1f6ba5c57fc3c7d91ac0fd1c","timestamp":"2026-05-05T19:40:15-04:00","message":"Update README.md `
	const tail = `"}}`
	return []byte(head + strings.Repeat("x", 1024-len(head)-len(tail)) + tail)
}()

// figures are the results of a load.
type figures struct {
	times []time.Duration // Sorted.
	took  time.Duration
}

func (f *figures) perSecond() float64 { return float64(len(f.times)) / f.took.Seconds() }

func (f *figures) quantile(q float64) time.Duration { return f.times[int(q*float64(len(f.times)-1))] }

func ms(d time.Duration) string { return fmt.Sprintf("%.1f ms", float64(d.Microseconds())/1000) }

// load posts the body from several clients for a duration. Every response must be 204.
func load(ctx context.Context, address, path string, clients int, length time.Duration) (*figures, error) {
	ctx, cancel := context.WithTimeout(ctx, length)
	defer cancel()
	times := make([][]time.Duration, clients)
	errs := make([]error, clients)
	start := time.Now()
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: clients}}
	defer client.CloseIdleConnections()
	var wg sync.WaitGroup
	for i := range clients {
		wg.Go(func() {
			for ctx.Err() == nil {
				sent := time.Now()
				if err := post(client, "http://"+address+path); err != nil {
					errs[i] = err
					return
				}
				times[i] = append(times[i], time.Since(sent))
			}
		})
	}
	wg.Wait()
	f := &figures{took: time.Since(start), times: slices.Concat(times...)}
	slices.Sort(f.times)
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	return f, nil
}

// post posts the body once.
func post(client *http.Client, url string) error {
	r, err := http.NewRequest(http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	for name, value := range map[string]string{
		"Content-Type": "application/json", "X-GitHub-Event": "push", "X-GitHub-Delivery": "72d3162e-cc78-11e3-81ab-4c9367dc0958",
		"X-Hub-Signature-256": "sha256=d57c68ca6f92289e6987922ff26938930f6e66a2d161ef06abdf1859230aa23c", "User-Agent": "GitHub-Hookshot/044aadd",
	} {
		r.Header.Set(name, value)
	}
	response, err := client.Do(r)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, response.Body)
	if closing := response.Body.Close(); err == nil {
		err = closing
	}
	if err == nil && response.StatusCode != http.StatusNoContent {
		err = fmt.Errorf("post to a webhook: status %d", response.StatusCode)
	}
	return err
}

// annoy posts to a webhook with a hostile template until ctx ends, and returns the number of refused requests.
func annoy(ctx context.Context, address, path string, clients int) int {
	var refused atomic.Int64
	var wg sync.WaitGroup
	for range clients {
		wg.Go(func() {
			c := beside.NewConn(address, "")
			defer c.Close()
			for ctx.Err() == nil {
				if _, err := c.Call(http.MethodPost, path, body, http.StatusBadRequest, http.StatusServiceUnavailable, http.StatusTooManyRequests); err == nil {
					refused.Add(1)
				}
			}
		})
	}
	wg.Wait()
	return int(refused.Load())
}

// brokerAlone returns the rate of the embedded broker in events per second, from as many publishers, with fsync.
func brokerAlone(ctx context.Context, publishers int, length time.Duration) (float64, error) {
	dir, err := os.MkdirTemp("", "orch-bench-hooks-")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	log := slog.New(slog.DiscardHandler)
	nats, err := embeddednats.Start(embeddednats.Options{Dir: dir, Logger: log})
	if err != nil {
		return 0, err
	}
	defer nats.Close()
	conn, err := broker.Connect(ctx, broker.Config{InProcess: nats.InProcess(), Logger: log})
	if err != nil {
		return 0, err
	}
	defer conn.Close()
	ctx, cancel := context.WithTimeout(ctx, length)
	defer cancel()
	var taken atomic.Int64
	start := time.Now()
	var wg sync.WaitGroup
	for range publishers {
		wg.Go(func() {
			for ctx.Err() == nil {
				e := broker.Event{ID: uuid.New(), Source: "bench", Type: "github.push", Workspace: uuid.Max, Data: body}
				if conn.Publisher().Publish(ctx, e) == nil {
					taken.Add(1)
				}
			}
		})
	}
	wg.Wait()
	return float64(taken.Load()) / time.Since(start).Seconds(), nil
}

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/orch-project/orch/pkg/admission"
	"github.com/orch-project/orch/pkg/restjson"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/query"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// maxTenantSlowdown is how many times slower the 99th percentile of a workspace may become beside another's worst queries.
const maxTenantSlowdown = 2

// turns is how often the workspace is measured alone and beside the other, so a change of the machine's load affects both.
const turns = 4

// worst returns queries that read much: of a workspace with many runs.
func worst() []string {
	ids := make([]string, 10_000)
	for i := range ids {
		ids[i] = `"` + known("run", i*7).String() + `"`
	}
	return []string{
		`{"flow_runs":{"name":{"like_":"absent"}}}`,
		`{"flow_runs":{"name":{"like_":"q"}},"sort":"NAME_DESC"}`,
		`{"flow_runs":{"name":{"like_":"%"}},"sort":"END_TIME_DESC"}`,
		`{"task_runs":{"name":{"like_":"7"}},"sort":"START_TIME_DESC"}`,
		`{"sort":"NAME_ASC","offset":1000000000}`,
		`{"flow_runs":{"id":{"any_":[` + strings.Join(ids, ",") + `]}},"sort":"NAME_ASC"}`,
		`{"flow_runs":{"id":{"not_any_":[` + strings.Join(ids, ",") + `]}},"sort":"NAME_ASC","offset":5000}`,
		`{"flow_runs":{"name":{"like_":"zq"},"work_queue_name":{"is_null_":true}},"sort":"EXPECTED_START_TIME_DESC"}`,
		`{"task_runs":{"tags":{"is_null_":false}},"flows":{"name":{"like_":"f"}},"sort":"END_TIME_DESC"}`,
		`{"flow_runs":{"tags":{"is_null_":false}},"task_runs":{"name":{"like_":"a"}},"flows":{"name":{"like_":"f"}},` +
			`"deployments":{"name":{"like_":"d"}},"work_pools":{"type":{"any_":["process"]}},"work_pool_queues":{"name":{"any_":["queue-3"]}}}`,
	}
}

// hostileClients is the number of clients that send the worst queries.
const hostileClients = 32

// tenants measures a workspace with few runs, alone and beside a workspace with n runs whose clients send the worst queries.
func tenants(ctx context.Context, dir string, n int, round time.Duration, only *regexp.Regexp) (err error) {
	worst := slices.DeleteFunc(worst(), func(body string) bool { return !only.MatchString(body) })
	if len(worst) == 0 {
		return errors.New("-only matches none of the worst queries")
	}
	w, err := open(ctx, filepath.Join(dir, strconv.Itoa(n), "store"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.close(context.WithoutCancel(ctx))) }()
	if err := errors.Join(w.fill(ctx, n), w.fillRelated(ctx, n)); err != nil {
		return err
	}
	small := known("workspace", 1)
	if err := w.fillSmall(ctx, small); err != nil {
		return err
	}
	body := &orchv1.FlowRunQuery{}
	if err := restjson.Unmarshal([]byte(`{"flow_runs":{"state":{"type":{"any_":["FAILED","COMPLETED"]}}},"sort":"START_TIME_DESC"}`), body); err != nil {
		return fmt.Errorf("parse query: %w", err)
	}
	usual := question{own: query.FlowRun, body: body, order: body.GetSort()}
	var alone, beside []time.Duration
	for range turns {
		took, err := w.latencies(ctx, small, usual, round/turns)
		if err != nil {
			return err
		}
		alone = append(alone, took...)
		hostile, stop := context.WithCancel(ctx)
		var clients sync.WaitGroup
		for i := range hostileClients {
			clients.Go(func() { w.flood(hostile, worst, i, n) })
		}
		took, err = w.latencies(ctx, small, usual, round/turns)
		stop()
		clients.Wait()
		if err != nil {
			return err
		}
		beside = append(beside, took...)
	}
	ratio := float64(quantile(beside, .99)) / float64(quantile(alone, .99))
	_, _ = fmt.Fprintf(os.Stdout, "a workspace alone: p50 %.2f ms, p99 %.2f ms; beside %d clients of the worst queries of another: p50 %.2f ms, p99 %.2f ms\n"+
		"p99 ratio %.1f, bound %d; memory %d MB\n", ms(quantile(alone, .5)), ms(quantile(alone, .99)), hostileClients,
		ms(quantile(beside, .5)), ms(quantile(beside, .99)), ratio, maxTenantSlowdown, memory("VmHWM")>>20)
	if ratio > maxTenantSlowdown {
		return errors.New("a workspace slows another down")
	}
	return nil
}

// quantile returns a quantile of latencies, and sorts them.
func quantile(took []time.Duration, q float64) time.Duration {
	slices.Sort(took)
	return took[int(float64(len(took)-1)*q)]
}

// flood sends the worst queries until ctx ends.
func (w *world) flood(ctx context.Context, worst []string, i, n int) {
	for ; ctx.Err() == nil; i++ {
		body := &orchv1.FlowRunQuery{}
		if err := restjson.Unmarshal([]byte(worst[i%len(worst)]), body); err != nil {
			panic(err) // The list is fixed.
		}
		q := question{own: query.FlowRun, body: body, order: orchv1.FlowRunSort(max(1, int(body.GetSort()))), count: i%3 == 0, deep: float64(body.GetOffset()) / float64(n)}
		if _, err := w.ask(ctx, q, n); errors.Is(err, admission.ErrBusy) {
			<-time.After(time.Second) // As Retry-After says.
		}
	}
}

// latencies are those of a query that four clients send.
func (w *world) latencies(ctx context.Context, ws uuid.UUID, q question, round time.Duration) ([]time.Duration, error) {
	var mu sync.Mutex
	var took []time.Duration
	var failed error
	var clients sync.WaitGroup
	until := time.Now().Add(round)
	for range 4 {
		clients.Go(func() {
			for time.Now().Before(until) {
				began := time.Now()
				_, err := w.askIn(ctx, ws, q, 0)
				mu.Lock()
				took, failed = append(took, time.Since(began)), errors.Join(failed, err)
				mu.Unlock()
				if err != nil {
					return
				}
				<-time.After(10 * time.Millisecond)
			}
		})
	}
	clients.Wait()
	return took, failed
}

// fillSmall stores a thousand runs in another workspace.
func (w *world) fillSmall(ctx context.Context, ws uuid.UUID) error {
	runs := store.NewCollection(w.store, query.FlowRun, &orchv1.FlowRun{})
	if n, err := runs.Count(ctx, ws, store.Query{}); err != nil || n > 0 {
		return err
	}
	for i := range 1000 {
		run := flowRun(i, 1000)
		run.Id = known("small", i).String()
		if err := runs.Insert(ctx, ws, run); err != nil {
			return err
		}
	}
	return nil
}

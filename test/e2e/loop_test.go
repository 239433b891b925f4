//go:build e2e

package e2e

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"flag"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var (
	runLoop       = flag.Bool("loop", false, "run the tests of the loop, which make e2e-loop does")
	loopPosts     = flag.Int("loop.posts", 200, "how many webhooks the loop posts one after another")
	loopP50       = flag.Duration("loop.p50", 50*time.Millisecond, "the median time from 204 to PENDING that fails the test; 0 only prints")
	loopP99       = flag.Duration("loop.p99", 250*time.Millisecond, "the 99th percentile of that time; 0 only prints")
	loopKillPosts = flag.Int("loop.kill.posts", 1000, "how many webhooks are posted while processes die")
	loopKillFor   = flag.Duration("loop.kill.for", 2*time.Minute, "how long processes are killed at random")
)

const loopSecret = "signing-secret-of-the-test"

// loop is a webhook, an automation and a deployment, from a signed post to a run in a work pool.
type loop struct {
	t    *testing.T
	o    *Orch
	c    *Client
	hook string
}

func startLoop(t *testing.T, o *Orch) *loop {
	l := &loop{t: t, o: o, c: &Client{HTTP: &http.Client{Timeout: 10 * time.Second}, Ledger: NewLedger()}}
	t.Cleanup(l.c.HTTP.CloseIdleConnections)
	var flow, pool, deployment struct {
		ID string `json:"id"`
	}
	var hook struct {
		Slug string `json:"slug"`
	}
	l.create("/work_pools/", map[string]any{"name": "loop", "type": "process"}, &pool)
	l.create("/flows/", map[string]any{"name": "loop"}, &flow)
	l.create("/deployments/", map[string]any{"name": "loop", "flow_id": flow.ID, "work_pool_name": "loop"}, &deployment)
	l.create("/webhooks/", map[string]any{
		"name": "loop", "verification": map[string]any{"scheme": "github", "secrets": []string{loopSecret}},
		"template": `{"event": "github.push", "resource": {"orch.resource.id": "repo.a"}, "payload": {{ body | tojson }}}`,
	}, &hook)
	l.create("/automations/", map[string]any{
		"name":    "loop",
		"trigger": map[string]any{"type": "event", "posture": "Reactive", "expect": []string{"github.push"}},
		"actions": []any{map[string]any{
			"type": "run-deployment", "deployment_id": deployment.ID, "parameters": map[string]any{"n": "{{ event.payload.n }}"},
		}},
	}, nil)
	l.hook = "/hooks/" + hook.Slug
	return l
}

func (l *loop) create(path string, body map[string]any, out any) {
	l.t.Helper()
	status, err := l.c.post(l.t.Context(), l.o.API()+path, body, out)
	require.NoError(l.t, err, path)
	require.Contains(l.t, []int{http.StatusOK, http.StatusCreated}, status, path)
}

// post posts a signed webhook with a number and returns its status, 0 without a response.
func (l *loop) post(ctx context.Context, n int) int {
	body := fmt.Appendf(nil, `{"n":%d}`, n)
	mac := hmac.New(sha256.New, []byte(loopSecret))
	mac.Write(body)
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, l.o.URL+l.hook, bytes.NewReader(body))
	if err != nil {
		return 0
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("X-Hub-Signature-256", "sha256="+hex.EncodeToString(mac.Sum(nil)))
	status, err := l.c.do(request, nil)
	if err != nil {
		return 0
	}
	return status
}

// work takes a run of the pool, as a worker does, and returns its number once it is PENDING; false if there is none.
func (l *loop) work(ctx context.Context) (n int, taken bool) {
	var scheduled []struct {
		Run struct {
			ID         string         `json:"id"`
			Parameters map[string]int `json:"parameters"`
		} `json:"flow_run"`
	}
	_, err := l.c.post(ctx, l.o.API()+"/work_pools/loop/get_scheduled_flow_runs", map[string]any{"limit": 1}, &scheduled)
	if err != nil || len(scheduled) == 0 {
		return 0, false
	}
	var result struct {
		Status string `json:"status"`
	}
	run := scheduled[0].Run
	_, err = l.c.post(ctx, l.o.API()+"/flow_runs/"+run.ID+"/set_state", map[string]any{"state": map[string]any{"type": "PENDING"}}, &result)
	return run.Parameters["n"], err == nil && result.Status == "ACCEPT"
}

// numbers are the parameters of all runs, with how many runs have each.
func (l *loop) numbers(ctx context.Context) (map[int]int, error) {
	numbers := map[int]int{}
	for offset := 0; ; offset += 200 {
		var page []struct {
			Parameters map[string]int `json:"parameters"`
		}
		if _, err := l.c.post(ctx, l.o.API()+"/flow_runs/filter", map[string]any{"limit": 200, "offset": offset, "sort": "ID_DESC"}, &page); err != nil {
			return nil, err
		}
		for _, run := range page {
			numbers[run.Parameters["n"]]++
		}
		if len(page) < 200 {
			return numbers, nil
		}
	}
}

// TestLoopLatency posts signed webhooks one after another, and takes each run from its work pool. It prints the time from
// the 204 until the run is PENDING.
func TestLoopLatency(t *testing.T) {
	if !*runLoop {
		t.Skip("make e2e-loop measures the loop")
	}
	for _, form := range forms {
		t.Run(form.name, func(t *testing.T) {
			l := startLoop(t, form.start(t))
			var took []time.Duration
			for i := range *loopPosts {
				require.Equal(t, http.StatusNoContent, l.post(t.Context(), i))
				began := time.Now()
				for {
					n, taken := l.work(t.Context())
					if taken {
						require.Equal(t, i, n)
						break
					}
					require.Less(t, time.Since(began), startTimeout, "no run of post %d", i)
				}
				took = append(took, time.Since(began))
			}
			numbers, err := l.numbers(t.Context())
			require.NoError(t, err)
			require.Len(t, numbers, *loopPosts)
			slices.Sort(took)
			p50, p99 := took[len(took)/2], took[len(took)*99/100]
			t.Logf("204 to PENDING of %d posts: p50 %s, p99 %s, max %s", len(took), p50, p99, took[len(took)-1])
			require.False(t, *loopP50 > 0 && p50 > *loopP50, "p50 %s exceeds %s", p50, *loopP50)
			require.False(t, *loopP99 > 0 && p99 > *loopP99, "p99 %s exceeds %s", p99, *loopP99)
		})
	}
}

// TestLoopKilled posts signed webhooks while processes are killed at random. Each 204 has exactly one run in the end, and
// each post without a response at most one.
func TestLoopKilled(t *testing.T) {
	if !*runLoop {
		t.Skip("make e2e-loop kills processes during the loop")
	}
	for _, form := range []struct {
		name  string
		start func() *Orch
	}{
		{"one process", func() *Orch { return StartSingleAt(t, programs, t.TempDir(), FreeAddress(t)) }},
		{"three processes", func() *Orch { return StartThree(t, programs, t.TempDir()) }},
	} {
		t.Run(form.name, func(t *testing.T) {
			l := startLoop(t, form.start())
			l.t = t
			ctx, cancel := context.WithTimeout(t.Context(), *loopKillFor+5*time.Minute)
			defer cancel()
			var mu sync.Mutex
			promised := map[int]bool{}
			unknown, next := 0, 0
			draw := func() (int, bool) {
				mu.Lock()
				defer mu.Unlock()
				next++
				return next, len(promised) < *loopKillPosts
			}
			pace := *loopKillFor * 4 / time.Duration(*loopKillPosts)
			var senders sync.WaitGroup
			for range 4 {
				senders.Go(func() {
					for ctx.Err() == nil {
						n, more := draw()
						if !more {
							return
						}
						status := l.post(ctx, n)
						mu.Lock()
						if status == http.StatusNoContent {
							promised[n] = true
						} else {
							unknown++
						}
						mu.Unlock()
						select {
						case <-time.After(pace):
						case <-ctx.Done():
						}
					}
				})
			}
			kills := 0
			random := rand.New(rand.NewPCG(1, 2))
			for until := time.Now().Add(*loopKillFor); time.Now().Before(until); kills++ {
				l.o.Restart(t, l.o.Processes[random.IntN(len(l.o.Processes))])
				select {
				case <-time.After(time.Duration(random.Int64N(int64(5 * time.Second)))):
				case <-ctx.Done():
				}
			}
			senders.Wait()
			require.NoError(t, ctx.Err(), "only %d posts were accepted", len(promised))
			numbers := map[int]int{}
			require.Eventually(t, func() bool {
				found, err := l.numbers(ctx)
				if err != nil {
					return false
				}
				numbers = found
				for n := range promised {
					if numbers[n] == 0 {
						return false
					}
				}
				return true
			}, time.Minute, time.Second, "a post has no run: the lease of an interrupted action lasts 15 seconds")
			for n, runs := range numbers {
				require.Equal(t, 1, runs, "post %d", n)
			}
			t.Logf("%d kills, %d accepted posts, %d without a 204, %d runs, none twice", kills, len(promised), unknown, len(numbers))
		})
	}
}

//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// enough is the number of acknowledged requests before the check.
const enough = 5000

// TestKill kills the server repeatedly under eight clients that post webhooks and set states. After the last restart
// every 204 has its event and every 201 its state, each exactly once.
func TestKill(t *testing.T) {
	o := StartSingleAt(t, programs, t.TempDir(), FreeAddress(t))
	ctx, cancel := context.WithTimeout(t.Context(), 8*time.Minute)
	defer cancel()
	c := &Client{
		HTTP:   &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: 16}},
		Ledger: NewLedger(),
	}
	defer c.HTTP.CloseIdleConnections()
	slug, err := c.CreateWebhook(ctx, o, "kill")
	require.NoError(t, err)
	var flow struct {
		ID string `json:"id"`
	}
	_, err = c.post(ctx, o.API()+"/flows/", map[string]any{"name": "kill"}, &flow)
	require.NoError(t, err)

	var number atomic.Int64
	work, stop := context.WithCancel(ctx)
	var clients sync.WaitGroup
	for i := range 8 {
		clients.Go(func() {
			for work.Err() == nil {
				if i%2 == 0 {
					c.Deliver(ctx, o, slug, fmt.Sprint(number.Add(1)))
					continue
				}
				run := c.CreateRun(ctx, o, flow.ID)
				for _, kind := range []string{"RUNNING", "COMPLETED"} {
					if run != "" {
						c.SetState(ctx, o, run, kind)
					}
				}
			}
		})
	}
	kills := 0
	for step := enough / 6; c.Ledger.Acknowledged() < enough; {
		want := min(c.Ledger.Acknowledged()+step, enough)
		for c.Ledger.Acknowledged() < want {
			select {
			case <-time.After(5 * time.Millisecond):
			case <-ctx.Done():
				t.Fatalf("only %d acknowledged", c.Ledger.Acknowledged())
			}
		}
		o.Restart(t, o.Processes[0])
		kills++
	}
	stop()
	clients.Wait()

	verdict, err := c.Check(ctx, o, 25*time.Second) // Messages in flight at the last kill are redelivered within 5 s.
	require.NoError(t, err)
	t.Logf("%d kills, %d acknowledged, %d without an answer; %d lost, %d twice",
		kills, c.Ledger.Acknowledged(), c.Ledger.Unknown(), len(verdict.Lost), len(verdict.Twice))
	require.Empty(t, verdict.Lost)
	require.Empty(t, verdict.Twice)
	require.GreaterOrEqual(t, c.Ledger.Acknowledged(), enough)
}

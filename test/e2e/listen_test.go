//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const (
	// firstForwarded bounds the time from nothing to the first forwarded request.
	firstForwarded = time.Minute
	// addedLatency bounds the 99th percentile of the time from a post until the program has the request. On a machine where a post alone takes
	// long, postFactor times that of a post to a webhook without a listener is the bound.
	addedLatency = 50 * time.Millisecond
	postFactor   = 5
	// deskTemplate renders without the request.
	deskTemplate = `{"event": "desk", "resource": {"orch.resource.id": "desk"}}`
)

// desk is a program that receives forwarded requests.
type desk struct {
	mu      sync.Mutex
	bodies  map[string]time.Time // When the first request with a body arrived.
	ids     map[string]int       // Requests by the id of their delivery.
	arrived chan struct{}
}

func newDesk(t *testing.T) (*desk, string) {
	d := &desk{bodies: map[string]time.Time{}, ids: map[string]int{}, arrived: make(chan struct{}, 1)}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		d.mu.Lock()
		if _, again := d.bodies[string(body)]; !again {
			d.bodies[string(body)] = time.Now()
		}
		d.ids[r.Header.Get("Orch-Delivery-Id")]++
		d.mu.Unlock()
		select {
		case d.arrived <- struct{}{}:
		default:
		}
		_, _ = w.Write([]byte("seen"))
	}))
	t.Cleanup(s.Close)
	return d, s.URL + "/path"
}

// count is the number of different requests that arrived.
func (d *desk) count() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.bodies)
}

// at waits until a request with a body arrived, and returns the time.
func (d *desk) at(ctx context.Context, t *testing.T, body string) time.Time {
	t.Helper()
	for {
		d.mu.Lock()
		at, found := d.bodies[body]
		d.mu.Unlock()
		if found {
			return at
		}
		select {
		case <-d.arrived:
		case <-ctx.Done():
			t.Fatalf("request %s did not arrive", body)
		}
	}
}

// TestListen forwards requests to a program: within a minute from nothing, within 50 ms of the post, and each one once although server and
// client are killed in between.
func TestListen(t *testing.T) {
	for _, form := range forms {
		t.Run(form.name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 8*time.Minute)
			defer cancel()
			begin := time.Now()
			o := form.start(t)
			c := &Client{HTTP: &http.Client{Timeout: 10 * time.Second}, Ledger: NewLedger()}
			var hook hooked
			status, err := c.post(ctx, o.API()+"/webhooks/", map[string]any{"name": "desk", "template": deskTemplate}, &hook)
			require.NoError(t, err)
			require.Equal(t, http.StatusCreated, status)
			program, address := newDesk(t)
			env := []string{"ORCH_API_URL=" + o.API(), "XDG_CACHE_HOME=" + t.TempDir(), "XDG_CONFIG_HOME=" + t.TempDir()}
			client := Start(t, "orch listen", env, programs.Path("orch"), "listen", "desk", "--forward", address)
			_, err = client.Line(ctx, "Listening.")
			require.NoError(t, err)
			var alone hooked // Nobody listens to it.
			_, err = c.post(ctx, o.API()+"/webhooks/", map[string]any{"name": "alone", "template": deskTemplate}, &alone)
			require.NoError(t, err)
			postTo := func(address, body string) bool {
				r, err := http.NewRequestWithContext(ctx, http.MethodPost, address, strings.NewReader(body))
				require.NoError(t, err)
				response, err := c.HTTP.Do(r)
				if err != nil {
					return false
				}
				_ = response.Body.Close()
				return response.StatusCode == http.StatusNoContent
			}
			post := func(body string) bool { return postTo(hook.URL, body) }
			require.True(t, post("first"))
			first := program.at(ctx, t, "first").Sub(begin)
			require.LessOrEqual(t, first, firstForwarded)

			const measured = 300
			took, posts := make([]time.Duration, measured), make([]time.Duration, measured)
			for i := range took {
				body, sent := fmt.Sprintf("measured %d", i), time.Now()
				require.True(t, post(body))
				took[i] = program.at(ctx, t, body).Sub(sent)
				sent = time.Now()
				require.True(t, postTo(alone.URL, body))
				posts[i] = time.Since(sent)
			}
			slices.Sort(took)
			slices.Sort(posts)
			p50, p99, alone99 := took[measured/2], took[measured*99/100], posts[measured*99/100]
			t.Logf("first request %s after nothing; %d requests arrive after p50 %s, p99 %s; a post without a listener takes p50 %s, p99 %s",
				first.Round(time.Millisecond), measured, p50, p99, posts[measured/2], alone99)

			answered, kills := killWhileListening(ctx, t, o, client, program, post)
			for _, body := range answered {
				program.at(ctx, t, body)
			}
			program.mu.Lock()
			defer program.mu.Unlock()
			again := 0
			for id, n := range program.ids {
				require.LessOrEqual(t, n, 2, id)
				again += n - 1
			}
			t.Logf("%d kills of the client and of the server each; %d requests answered, none missed; %d forwarded again, whose answer a killed client had not seen",
				kills, len(answered), again)
			require.LessOrEqual(t, again, kills)
			require.LessOrEqual(t, p99, max(addedLatency, postFactor*alone99))
		})
	}
}

// killWhileListening posts requests while client and server are killed and started again, and returns those that were answered.
func killWhileListening(
	ctx context.Context, t *testing.T, o *Orch, client *Process, program *desk, post func(body string) bool,
) (answered []string, kills int) {
	t.Helper()
	work, stop := context.WithCancel(ctx)
	var sender sync.WaitGroup
	sender.Go(func() {
		for i := 0; work.Err() == nil; i++ {
			if body := fmt.Sprintf("request %d", i); post(body) {
				answered = append(answered, body)
			}
			select {
			case <-time.After(5 * time.Millisecond):
			case <-work.Done():
			}
		}
	})
	arrive := func(n int) {
		for want := program.count() + n; program.count() < want; {
			select {
			case <-program.arrived:
			case <-ctx.Done():
				t.Fatal("requests do not arrive")
			}
		}
	}
	const rounds, between = 3, 100
	for range rounds {
		arrive(between)
		require.NoError(t, client.Restart())
		arrive(between)
		for _, p := range o.Processes {
			o.Restart(t, p)
			arrive(between)
		}
		kills++
	}
	client.Kill()
	for _, p := range o.Processes {
		o.Restart(t, p)
	}
	require.NoError(t, client.Restart())
	arrive(between)
	kills++
	stop()
	sender.Wait()
	return answered, kills
}

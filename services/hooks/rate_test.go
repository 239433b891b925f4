package hooks_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/orch-project/orch/pkg/broker"
	"github.com/orch-project/orch/pkg/clock"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/hooks"
)

// TestRatesOverReplicas: three replicas, each with a connection of its own to one NATS server, accept rate × time + burst together, within 5 %,
// though one has most of the traffic. Each refusal is a 429 with Retry-After, and the delivery log counts it.
func TestRatesOverReplicas(t *testing.T) {
	t.Parallel()
	const (
		perSecond, burst = 20, 30
		steps            = 100
		step             = 100 * time.Millisecond
		sibling          = "sibling_slug-0123456789"
	)
	rate := &orchv1.WebhookRateLimit{Requests: perSecond * 10, Seconds: 10, Burst: proto.Int64(burst)}
	for name, c := range map[string]struct {
		webhook *orchv1.WebhookDefinition
		account *orchv1.AccountDefinition
		slugs   []string // Replicas post to them in turns.
	}{
		"of a webhook":   {&orchv1.WebhookDefinition{Template: static, RateLimit: rate}, nil, []string{slug}},
		"of an account":  {&orchv1.WebhookDefinition{Template: static}, &orchv1.AccountDefinition{Id: account, Revision: 1, RateLimit: rate}, []string{slug, sibling}},
		"of its webhook": {&orchv1.WebhookDefinition{Template: static, RateLimit: rate}, &orchv1.AccountDefinition{Id: account, Revision: 1, RateLimit: &orchv1.WebhookRateLimit{Requests: 1000, Seconds: 1}}, []string{slug}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			now := clock.NewManual(time.Now())
			w := newWorld(t, func(_ *hooks.Config, d *hooks.Deps) { d.Clock = now })
			w.start(func(ctx context.Context) error {
				for {
					select {
					case <-w.events: // The test counts responses.
					case <-ctx.Done():
						return nil
					}
				}
			})
			log := w.journal()
			if c.account != nil {
				w.putAccount(c.account)
			}
			w.put(slug, c.webhook)
			other := proto.CloneOf(c.webhook)
			other.Id = "01890000-0000-7000-8000-00000000000e"
			w.putAs(sibling, other)
			var replicas []http.Handler
			for range 3 {
				conn, err := broker.Connect(t.Context(), broker.Config{InProcess: w.nats})
				require.NoError(t, err)
				t.Cleanup(func() { require.NoError(t, conn.Close()) })
				h, err := hooks.New(hooks.Config{}, hooks.Deps{Broker: conn, Clock: now})
				require.NoError(t, err)
				w.start(h.Run)
				require.Eventually(t, func() bool { return h.Ready() == nil }, waitTime, tick)
				replicas = append(replicas, h.Handler())
			}
			var mu sync.Mutex
			accepted, refused := 0, 0
			for range steps {
				var group sync.WaitGroup
				for i, requests := range []int{7, 2, 1} {
					group.Go(func() {
						for n := range requests {
							r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/hooks/"+c.slugs[n%len(c.slugs)], strings.NewReader("{}"))
							got := httptest.NewRecorder()
							replicas[i].ServeHTTP(got, r)
							mu.Lock()
							switch got.Code {
							case http.StatusNoContent:
								accepted++
							case http.StatusTooManyRequests:
								refused++
							}
							mu.Unlock()
							seconds, err := strconv.Atoi(got.Header().Get("Retry-After"))
							if got.Code == http.StatusTooManyRequests && (err != nil || seconds != 1) {
								t.Errorf("Retry-After is %q", got.Header().Get("Retry-After"))
							}
						}
					})
				}
				group.Wait()
				now.Advance(step)
			}
			require.Equal(t, steps*10, accepted+refused, "no other response")
			allowed := burst + perSecond*(steps-1)*step.Seconds()
			t.Logf("%d of %d requests accepted, %.0f allowed: %+.1f %%", accepted, accepted+refused, allowed, 100*(float64(accepted)/allowed-1))
			require.LessOrEqual(t, float64(accepted), allowed)
			require.InEpsilon(t, allowed, float64(accepted), 0.05)
			now.Advance(time.Hour) // It ends the groups of refusals.
			require.Eventually(t, func() bool {
				logged := int64(0)
				for _, d := range log() {
					if d.GetStatus() == http.StatusTooManyRequests && d.GetReason() == "rate" {
						logged += d.GetCount()
					}
				}
				return logged == int64(refused)
			}, waitTime, tick)
		})
	}
}

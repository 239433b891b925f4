package broker

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/testkit"
)

// A publisher waits no longer than the shorter of both timeouts, and its event is then abandoned.
func TestPublishWithin(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ timeout, ackTimeout time.Duration }{{time.Millisecond, time.Hour}, {time.Hour, time.Millisecond}} {
		t.Run(fmt.Sprint(c.timeout), func(t *testing.T) {
			p := unconnected(1, 10)
			p.cfg = Config{AckTimeout: c.ackTimeout, QueueBytes: 1 << 20, QueueEvents: 10}
			queue := make(chan *waiter, 1)
			p.committers[0] = &committer{queue: queue} // It never commits.
			err := p.PublishWithin(t.Context(), c.timeout, testEvent())
			require.ErrorIs(t, err, ErrUnavailable)
			require.ErrorContains(t, err, "within 1ms")
			require.True(t, (<-queue).abandoned.Load())
		})
	}
}

// The queue of events to publish refuses what exceeds its bytes, and the gauge shows how full it is.
func TestAFullPublishQueueRefusesEvents(t *testing.T) {
	t.Parallel()
	p := unconnected(1, 100)
	p.cfg = Config{QueueBytes: defaultQueueBytes, QueueEvents: 100}
	k := &committer{queue: make(chan *waiter, 100), cfg: p.cfg} // It never commits.
	p.committers[0] = k
	large := testEvent()
	large.Data = []byte(`"` + strings.Repeat("x", 1<<20) + `"`)
	testkit.FillBound(t, "events that wait in a process to be published", defaultQueueBytes+MaxEventBytes, func() bool {
		b := p.NewBatch()
		require.NoError(t, b.Add(&large))
		err := p.enqueue(b.waiters[0])
		if err != nil {
			require.ErrorIs(t, err, ErrUnavailable)
		}
		return err != nil
	}, func() int { return int(k.queuedBytes.Load()) })
	require.NoError(t, testutil.CollectAndCompare(queueGauges{NewMetrics(&Conn{publisher: p})}, strings.NewReader(fmt.Sprintf(`
# HELP orch_broker_queue_bytes Size of the events that wait in this process to be published.
# TYPE orch_broker_queue_bytes gauge
orch_broker_queue_bytes{shard="0"} %d
# HELP orch_broker_queue_max_bytes Size at which the queue of events to publish refuses further events.
# TYPE orch_broker_queue_max_bytes gauge
orch_broker_queue_max_bytes{shard="0"} %d
`, k.queuedBytes.Load(), defaultQueueBytes))))
}

// queueGauges are the metrics that need no broker.
type queueGauges struct{ *Metrics }

func (g queueGauges) Collect(out chan<- prometheus.Metric) { g.collectQueues(out) }

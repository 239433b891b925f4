package broker

import (
	"errors"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"
)

// The metrics show the consumer lag, the fill of the streams and the dead letters.
func TestMetrics(t *testing.T) {
	t.Parallel()
	c := connectInProcess(t)
	m := NewMetrics(c)
	for range 3 {
		require.NoError(t, c.Publisher().Publish(t.Context(), testEvent()))
	}
	for range 2 {
		require.NoError(t, c.deadLetter(t.Context(), letter{durable: DurablePersist, id: "id.0", contentType: contentTypeEvent, body: []byte("{}"), reason: errors.New("bad")}))
	}
	require.NoError(t, testutil.CollectAndCompare(m, strings.NewReader(`
# HELP orch_broker_consumer_pending_frames Consumer lag: frames that were not delivered to a durable consumer yet.
# TYPE orch_broker_consumer_pending_frames gauge
orch_broker_consumer_pending_frames{durable="automations"} 3
orch_broker_consumer_pending_frames{durable="persist"} 3
# HELP orch_broker_dead_letters_total Dead letters that this process has written.
# TYPE orch_broker_dead_letters_total counter
orch_broker_dead_letters_total 1
# HELP orch_broker_dead_letters_dropped_total Dead letters that this process has dropped because their stream was full.
# TYPE orch_broker_dead_letters_dropped_total counter
orch_broker_dead_letters_dropped_total 0
# HELP orch_broker_stream_messages Messages in a stream: frames of EVENTS, dead letters of DLQ, entries of buckets (KV_) and journals (JOURNAL_).
# TYPE orch_broker_stream_messages gauge
orch_broker_stream_messages{stream="DLQ"} 1
orch_broker_stream_messages{stream="EVENTS"} 3
`), "orch_broker_consumer_pending_frames", "orch_broker_dead_letters_total", "orch_broker_dead_letters_dropped_total", "orch_broker_stream_messages"))
	status, err := c.Status(t.Context())
	require.NoError(t, err)
	for _, s := range status.Streams {
		require.NotZero(t, s.Bytes)
		require.NotZero(t, s.MaxBytes)
		require.False(t, s.Oldest.IsZero())
	}
}

package deliveries

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/orch-project/orch/pkg/clock"
	"github.com/orch-project/orch/pkg/webhook/receive"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// batches is a journal that may be away.
type batches struct {
	mu   sync.Mutex
	all  []*orchv1.WebhookTraffic
	away bool
}

func (b *batches) Append(_ context.Context, entry []byte) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	batch := &orchv1.WebhookDeliveryBatch{}
	if err := proto.Unmarshal(entry, batch); err != nil {
		return err
	}
	if b.away {
		return errors.New("away")
	}
	b.all = append(b.all, batch.GetTraffic()...)
	return nil
}

// TestTrafficIsCountedExactly, though the log samples it and the broker is away for a while; a sequence is never used twice.
func TestTrafficIsCountedExactly(t *testing.T) {
	t.Parallel()
	now := clock.NewManual(time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC))
	journal := &batches{}
	r := New(Options{Journal: journal, Clock: now})
	hook := &orchv1.WebhookDefinition{Id: "h", Workspace: "w", Name: "pushes"}
	note := func(status int) {
		n := LogEntry{Hook: hook, Status: status, Request: &receive.Request{Received: now.Now(), Slug: "topsecret-slug"}}
		if status >= http.StatusBadRequest {
			n.Reason, n.Err = "template", errors.New("broken at topsecret-slug")
		}
		r.Record(n)
	}
	for range 3 {
		for range 1000 {
			note(http.StatusNoContent)
			note(http.StatusBadRequest)
			r.Record(LogEntry{Hook: hook, Status: http.StatusNoContent, Outcome: Outcome{Reason: "filtered"}, Request: &receive.Request{Received: now.Now()}})
		}
		r.Record(LogEntry{Hook: hook, Status: http.StatusOK, Outcome: Outcome{Handshake: "slack"}, Request: &receive.Request{Received: now.Now()}})
		r.flush(t.Context())
		now.Advance(trafficInterval)
		journal.away = !journal.away
		r.flush(t.Context())
	}
	journal.away = false
	r.end(t.Context())
	var requests, failures, filtered int64
	sequences := map[int64]bool{}
	for _, one := range journal.all {
		requests += one.GetRequests()
		failures += one.GetFailures()
		filtered += one.GetFiltered()
		require.False(t, sequences[one.GetSource().GetSequence()])
		sequences[one.GetSource().GetSequence()] = true
		require.Equal(t, "broken at ***", one.GetError())
		require.Equal(t, "template", one.GetReason())
	}
	require.EqualValues(t, 9000, requests)
	require.EqualValues(t, 3000, filtered)
	require.EqualValues(t, 3000, failures)
	require.Len(t, sequences, 3)
}

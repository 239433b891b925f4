package deliveries

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"google.golang.org/protobuf/proto"

	"github.com/orch-project/orch/pkg/testkit"
	"github.com/orch-project/orch/pkg/webhook/deliverylog"
	"github.com/orch-project/orch/pkg/webhook/receive"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// entries collects what is appended; err refuses it.
type entries struct {
	mu  sync.Mutex
	all [][]byte
	err error
}

func (e *entries) Append(_ context.Context, entry []byte) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.err == nil {
		e.all = append(e.all, entry)
	}
	return e.err
}

// appended is a snapshot, because the recorder may append at the same time.
func (e *entries) appended() [][]byte {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.all)
}

func (e *entries) deliveries(t *testing.T) []*orchv1.WebhookDelivery {
	t.Helper()
	var all []*orchv1.WebhookDelivery
	for _, entry := range e.appended() {
		batch := &orchv1.WebhookDeliveryBatch{}
		require.NoError(t, proto.Unmarshal(entry, batch))
		all = append(all, batch.GetDeliveries()...)
	}
	return all
}

func note(hook *orchv1.WebhookDefinition, status int, body string) LogEntry {
	return LogEntry{ID: uuid.New(), Hook: hook, Status: status, Request: &receive.Request{Method: "POST", Raw: []byte(body), Wire: []byte(body)}}
}

func newHook() *orchv1.WebhookDefinition {
	return &orchv1.WebhookDefinition{Id: uuid.NewString(), Workspace: uuid.NewString()}
}

// counter is a counter that can be read.
type counter struct {
	prometheus.Counter
	n float64
}

func (c *counter) Add(n float64) { c.n += n }

func TestNotesAreHandedOverTogetherAndAtTheEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		journal := &entries{}
		r := New(Options{Journal: journal})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- r.Run(ctx) }()
		hook := newHook()
		r.Record(note(hook, 204, "1"))
		r.Record(note(hook, 204, "2"))
		<-time.After(interval) // By the clock of the bubble.
		synctest.Wait()
		require.Len(t, journal.appended(), 1)
		require.Len(t, journal.deliveries(t), 2)
		r.Record(note(hook, 204, "3"))
		cancel()
		require.NoError(t, <-done)
		require.Len(t, journal.deliveries(t), 3, "what waits when the process ends")
	})
}

// TestRequestsHaveRows: within the budget of a minute each verified request has a row. Beyond it the last requests of each reason have one,
// and the counts add up to the number of requests.
func TestRequestsHaveRows(t *testing.T) {
	t.Parallel()
	const large = 60 << 10
	rowsOfLarge := maxRowBytes / (large + 1024)
	for name, c := range map[string]struct {
		fine, failed, filtered int
		body                   int // In bytes.
		rows                   int
	}{
		"200 requests":                  {fine: 150, failed: 40, filtered: 10, rows: 200},
		"all rows of the budget":        {fine: maxRows, rows: maxRows},
		"beyond the rows":               {fine: 2 * maxRows, rows: maxRows + maxSampled},
		"failures beyond the rows":      {fine: 2 * maxRows, failed: 3, rows: maxRows + maxSampled + 3},
		"reasons have own samples":      {fine: 2 * maxRows, failed: 100, filtered: 100, rows: maxRows + 3*maxSampled},
		"beyond the bytes, 60 KiB each": {fine: rowsOfLarge + 2*maxSampled, body: large, rows: rowsOfLarge + maxSampled},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			journal, dropped := &entries{}, &counter{}
			r, hook := New(Options{Journal: journal, Dropped: dropped}), newHook()
			record := func(n int, status int, reason string) {
				for range n {
					one := note(hook, status, strings.Repeat("x", c.body))
					one.Reason = reason
					r.Record(one)
				}
			}
			record(c.fine, 204, "")
			record(c.failed, 400, deliverylog.ReasonTemplate)
			record(c.filtered, 204, deliverylog.ReasonFiltered)
			last := note(hook, 204, "last")
			r.Record(last)
			r.Record(note(newHook(), 204, "another webhook's"))
			r.flush(t.Context())
			counts := map[string]int64{}
			var ids []string
			list := journal.deliveries(t)
			for _, d := range list {
				counts[d.GetReason()] += d.GetCount()
				ids = append(ids, d.GetId())
			}
			require.Equal(t, int64(c.fine+2), counts[""])
			require.EqualValues(t, c.failed, counts[deliverylog.ReasonTemplate])
			require.EqualValues(t, c.filtered, counts[deliverylog.ReasonFiltered])
			require.Contains(t, ids, last.ID.String())
			require.InDelta(t, c.rows+1, len(list), 1, "the last one has a row of its own unless it is a sample")
			require.Zero(t, dropped.n)
			require.Zero(t, r.count)
			require.Zero(t, r.bytes)
		})
	}
}

// TestRowsOfRequestsAreBounded: requests with long bodies have rows up to a bound in bytes.
func TestRowsOfRequestsAreBounded(t *testing.T) {
	t.Parallel()
	hook, now := newHook(), time.Unix(1_700_000_000, 0)
	b := newBudgets(maxRows, maxRowBytes)
	n := note(hook, 204, strings.Repeat("x", deliverylog.MaxBody))
	testkit.FillBound(t, "rows of verified requests, for each webhook and minute", maxRowBytes,
		func() bool { return !b.admit(&n, now) }, func() int { return b.used[hook.GetId()].bytes })
}

func TestWhatWaitsIsBounded(t *testing.T) {
	t.Parallel()
	dropped := &counter{}
	r := New(Options{Journal: &entries{}, Dropped: dropped})
	for range maxWaiting + 10 {
		r.Record(note(newHook(), 204, ""))
	}
	require.Equal(t, maxWaiting, r.count)
	require.InDelta(t, 1, r.Fill(), 0)
	require.InDelta(t, 10, dropped.n, 0)

	lost := &counter{}
	large := New(Options{Journal: &entries{}, Dropped: lost})
	testkit.FillBound(t, "deliveries that wait for the delivery log", maxWaitingBytes, func() bool {
		large.Record(note(newHook(), 204, strings.Repeat("x", 2*deliverylog.MaxBody)))
		return lost.n > 0
	}, func() int { return large.bytes })
	require.Greater(t, large.Fill(), 0.8)
	journal := &entries{}
	large.opts.Journal = journal
	large.flush(t.Context())
	for _, entry := range journal.appended() {
		require.Less(t, len(entry), 2*maxEntry)
	}
	for _, d := range journal.deliveries(t) {
		require.True(t, d.GetBodyTruncated())
		require.Len(t, d.GetRawBody(), deliverylog.MaxBody)
		require.Equal(t, int64(2*deliverylog.MaxBody), d.GetSize(), "as it was sent")
	}
}

func TestNotesAreForgottenWhileTheBrokerIsAway(t *testing.T) {
	t.Parallel()
	dropped := &counter{}
	r := New(Options{Journal: &entries{err: errors.New("away")}, Dropped: dropped})
	r.Record(note(newHook(), 204, ""))
	r.Record(note(newHook(), 400, ""))
	r.flush(t.Context())
	require.InDelta(t, 2, dropped.n, 0)
	require.Zero(t, r.count)
}

func TestStrangersBodiesAreNotKept(t *testing.T) {
	t.Parallel()
	journal := &entries{}
	r := New(Options{Journal: journal})
	n := note(newHook(), 401, "anything")
	n.WithoutBody, n.Err, n.From = true, errors.New("no signature"), "192.0.2.7"
	r.Record(n)
	r.flush(t.Context())
	d := journal.deliveries(t)[0]
	require.Empty(t, d.GetRawBody())
	require.True(t, d.GetBodyTruncated(), "so that it cannot be replayed")
	require.Equal(t, "no signature", d.GetError())
	require.Equal(t, "192.0.2.7", d.GetRemoteAddress())
}

// Notes come while what waits is handed over, also when nothing does. The race detector sees a map that is shared.
func TestNotesComeWhileNothingIsHandedOver(t *testing.T) {
	t.Parallel()
	r, hook := New(Options{Journal: &entries{}}), newHook()
	noted := make(chan struct{})
	go func() {
		defer close(noted)
		for range 1000 {
			r.Record(note(hook, 204, ""))
		}
	}()
	for range 1000 {
		r.flush(t.Context())
	}
	<-noted
}

package deliveries

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/orch-project/orch/pkg/testkit"
	"github.com/orch-project/orch/pkg/webhook/receive"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

func refusal(hook *orchv1.WebhookDefinition, reason, from string) LogEntry {
	n := note(hook, 401, "")
	n.Refused, n.Reason, n.From, n.Err = true, reason, from, errors.New("refused")
	return n
}

// spend uses up the webhook's budget of rows, in the recorder's window.
func spend(r *Recorder, hook *orchv1.WebhookDefinition) {
	r.refusals.budgets.used[hook.GetId()] = &usage{since: r.opts.Clock.Now(), rows: maxRefusalRows}
}

// TestRefusalsHaveRows: within the budget of a minute each refusal has its own row, for every reason and every source.
func TestRefusalsHaveRows(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		requests, header, rows int
	}{
		"50 requests":              {requests: 50, rows: 50},
		"all rows of the budget":   {requests: maxRefusalRows, rows: maxRefusalRows},
		"beyond the rows":          {requests: 3 * maxRefusalRows, rows: maxRefusalRows + 2},
		"beyond the bytes, 64 KiB": {requests: 50, header: 64 << 10, rows: maxRefusalBytes/(64<<10+1024) + 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			journal := &entries{}
			r, hook := New(Options{Journal: journal}), newHook()
			for range c.requests {
				n := refusal(hook, "signature", "192.0.2.1")
				n.Request.Header = []receive.Field{{Name: "x-note", Value: strings.Repeat("x", c.header)}}
				r.Record(n)
			}
			r.end(t.Context())
			total := int64(0)
			for _, d := range journal.deliveries(t) {
				total += d.GetCount()
			}
			require.EqualValues(t, c.requests, total)
			require.Len(t, journal.deliveries(t), c.rows)
			require.Empty(t, r.refusals.budgets.used)
		})
	}
}

// TestRowsOfRefusalsAreBounded: refusals with long headers have rows up to a bound in bytes.
func TestRowsOfRefusalsAreBounded(t *testing.T) {
	t.Parallel()
	b, hook, now := newBudgets(maxRefusalRows, maxRefusalBytes), newHook(), time.Unix(1_700_000_000, 0)
	n := refusal(hook, "signature", "192.0.2.1")
	n.Request.Header = []receive.Field{{Name: "x-note", Value: strings.Repeat("x", 64<<10)}}
	testkit.FillBound(t, "rows of refused requests, for each webhook and minute", maxRefusalBytes,
		func() bool { return !b.admit(&n, now) }, func() int { return b.used[hook.GetId()].bytes })
}

// Beyond the budget, the first and the last refusal of each group are in the log, and the counts add up. Reasons do not share a slot.
func TestRefusalsAreCounted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		journal := &entries{}
		r := New(Options{Journal: journal})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- r.Run(ctx) }()
		hook := newHook()
		spend(r, hook)
		first, last := refusal(hook, "signature", "192.0.2.1"), refusal(hook, "signature", "192.0.2.99")
		r.Record(first)
		for range 7 {
			r.Record(refusal(hook, "signature", "192.0.2.7"))
		}
		r.Record(last)
		other, rate := refusal(hook, "signature", "198.51.100.1"), refusal(hook, "rate", "192.0.2.1")
		r.Record(other)
		r.Record(rate)
		<-time.After(2 * interval)
		synctest.Wait()
		require.Len(t, journal.deliveries(t), 3, "the first of each group is shown at once")
		<-time.After(refusalWindow)
		synctest.Wait()
		counts := map[string]int64{}
		for _, d := range journal.deliveries(t) {
			counts[d.GetId()] = d.GetCount()
		}
		require.Equal(t, map[string]int64{first.ID.String(): 1, last.ID.String(): 8, other.ID.String(): 1, rate.ID.String(): 1}, counts)
		spend(r, hook)
		r.Record(refusal(hook, "signature", "192.0.2.1"))
		r.Record(refusal(hook, "signature", "192.0.2.1"))
		cancel()
		require.NoError(t, <-done)
		require.Len(t, journal.deliveries(t), 6, "the end of the process ends the windows")
	})
}

// A flood of refusals from everywhere makes few notes, and pushes nothing out of the log.
func TestRefusalsAreBounded(t *testing.T) {
	t.Parallel()
	journal, dropped := &entries{}, &counter{}
	r := New(Options{Journal: journal, Dropped: dropped})
	hook := newHook()
	const requests = 100_000
	for i := range requests {
		r.Record(refusal(hook, "signature", fmt.Sprintf("10.%d.%d.1", i>>8&255, i&255)))
	}
	r.end(t.Context())
	total := int64(0)
	for _, d := range journal.deliveries(t) {
		total += d.GetCount()
	}
	require.EqualValues(t, requests, total)
	require.Len(t, journal.deliveries(t), maxRefusalRows+2*(maxSources+1))
	require.Zero(t, dropped.n)
}

// Counts survive a broker that is away.
func TestRefusalsWaitForTheBroker(t *testing.T) {
	t.Parallel()
	journal := &entries{err: errors.New("away")}
	r := New(Options{Journal: journal})
	hook := newHook()
	for range 10 {
		r.Record(refusal(hook, "signature", "192.0.2.1"))
	}
	r.flush(t.Context())
	r.Record(note(hook, 204, "not a refusal"))
	r.flush(t.Context())
	journal.err = nil
	r.end(t.Context())
	total := int64(0)
	for _, d := range journal.deliveries(t) {
		total += d.GetCount()
	}
	require.EqualValues(t, 10, total)
}

// Whatever comes when, each refusal is counted once.
func TestEveryRefusalIsCountedOnce(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		r := newRefusals()
		hook := newHook()
		now := time.Unix(1_700_000_000, 0)
		counted, total := map[string]int64{}, map[string]int64{}
		expire := func(all bool) {
			for _, n := range r.expire(now, all) {
				counted[n.Reason] += n.Count
			}
		}
		for range rapid.IntRange(1, 300).Draw(t, "requests") {
			reason := rapid.SampledFrom([]string{"signature", "rate"}).Draw(t, "reason")
			from := fmt.Sprintf("192.0.%d.1", rapid.IntRange(0, 20).Draw(t, "network"))
			now = now.Add(time.Duration(rapid.IntRange(0, 20).Draw(t, "seconds")) * time.Second)
			total[reason]++
			if r.add(refusal(hook, reason, from), now) {
				counted[reason]++
			}
			expire(false)
		}
		expire(true)
		require.Equal(t, total, counted)
		require.Empty(t, r.groups)
		require.Empty(t, r.sources)
		require.Empty(t, r.budgets.used)
	})
}

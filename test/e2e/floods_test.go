//go:build e2e

package e2e

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

const (
	// floodBatch is how many events a request of the flood has.
	floodBatch = 50
	// readableWithin is how soon everything acknowledged must be readable, and smallWithin how long a single small sender may
	// wait at the median.
	readableWithin = 5 * time.Second
	smallWithin    = 100 * time.Millisecond
	// probeEvery is the pause between two probes.
	probeEvery = time.Second
)

// TestFloods sends events from 1, 8, 64 and 1,000 clients at once for ORCH_TEST_FLOOD each, such as 60s, while one small sender
// posts single events. A prober measures how soon acknowledged events are readable, during the flood and after it.
// ORCH_TEST_FLOOD_CLIENTS, such as 8,64, chooses other numbers of clients.
func TestFloods(t *testing.T) {
	length, err := time.ParseDuration(os.Getenv("ORCH_TEST_FLOOD"))
	if err != nil {
		t.Skip("ORCH_TEST_FLOOD is not a duration; make e2e-floods sets it")
	}
	crowds := []int{1, 8, 64, 1000}
	if text := os.Getenv("ORCH_TEST_FLOOD_CLIENTS"); text != "" {
		crowds = crowds[:0]
		for word := range strings.SplitSeq(text, ",") {
			n, err := strconv.Atoi(word)
			require.NoError(t, err)
			crowds = append(crowds, n)
		}
	}
	for _, form := range forms {
		for _, clients := range crowds {
			t.Run(fmt.Sprintf("%s, %d clients", form.name, clients), func(t *testing.T) {
				newFlood(t, form, clients).run(length)
			})
		}
	}
}

// flood sends events of one name from many clients.
type flood struct {
	*testing.T
	orch    *Orch
	client  *Client
	name    string
	clients int
	// acknowledged counts events, delayed the requests that were answered with 503.
	acknowledged, delayed atomic.Int64
	// probed counts the acknowledged events of the prober.
	probed atomic.Int64
}

func newFlood(t *testing.T, f form, clients int) *flood {
	t.Helper()
	transport := &http.Transport{MaxIdleConnsPerHost: clients + 2}
	t.Cleanup(transport.CloseIdleConnections)
	return &flood{
		T: t, orch: f.start(t), name: "flood." + uuid.NewString(), clients: clients,
		client: &Client{HTTP: &http.Client{Timeout: time.Minute, Transport: transport}, Ledger: NewLedger()},
	}
}

func (f *flood) run(length time.Duration) {
	ctx, cancel := context.WithTimeout(f.Context(), length)
	defer cancel()
	var senders sync.WaitGroup
	failures := make(chan error, f.clients+2)
	for range f.clients {
		senders.Go(func() {
			for ctx.Err() == nil {
				if err := f.send(f.name, floodBatch); err != nil {
					failures <- err
					return
				}
			}
		})
	}
	var waits []time.Duration
	senders.Go(func() {
		for ctx.Err() == nil {
			began := time.Now()
			if err := f.send(f.name, 1); err != nil {
				failures <- err
				return
			}
			waits = append(waits, time.Since(began))
			wait(ctx, 20*time.Millisecond)
		}
	})
	var slowest time.Duration
	probes := 0
	senders.Go(func() {
		for ; ctx.Err() == nil; wait(ctx, probeEvery) {
			took, err := f.probe(fmt.Sprintf("%s.probe.%d", f.name, probes))
			if err != nil {
				failures <- err
				return
			}
			slowest = max(slowest, took)
			probes++
		}
	})
	senders.Wait()
	last := time.Now()
	close(failures)
	for err := range failures {
		require.NoError(f, err)
	}
	acknowledged := f.acknowledged.Load()
	require.Eventually(f, func() bool { return f.stored() >= acknowledged }, time.Minute, 10*time.Millisecond)
	readable := time.Since(last)
	require.Equal(f, acknowledged, f.stored(), "nothing twice")
	slices.Sort(waits)
	median, most := waits[len(waits)/2], waits[len(waits)-1]
	f.Logf("%d events acknowledged (%.0f/s), %d requests answered 503; all readable %s after the last, %d probes within %s; small sender: median %s, at most %s of %d",
		acknowledged, float64(acknowledged)/length.Seconds(), f.delayed.Load(), readable.Round(time.Millisecond), probes, slowest.Round(time.Millisecond),
		median.Round(time.Millisecond/10), most.Round(time.Millisecond), len(waits))
	require.LessOrEqual(f, readable, readableWithin)
	require.Positive(f, probes)
	require.LessOrEqual(f, slowest, readableWithin)
	require.Less(f, median, smallWithin)
}

// probe sends one event and returns the time from its acknowledgement until it is readable.
func (f *flood) probe(name string) (time.Duration, error) {
	for before := f.probed.Load(); f.probed.Load() == before; {
		if err := f.send(name, 1); err != nil { // Again after a 503.
			return 0, err
		}
	}
	acknowledged := time.Now()
	for {
		switch n := f.client.countEvents(f.Context(), f.orch, name); {
		case n == 1:
			return time.Since(acknowledged), nil
		case time.Since(acknowledged) > time.Minute:
			return 0, fmt.Errorf("%s is not readable", name)
		}
		wait(f.Context(), 20*time.Millisecond)
	}
}

// send posts a request with so many events. A 503 acknowledges nothing.
func (f *flood) send(name string, events int) error {
	body := []byte{'['}
	now := time.Now().UTC().Format(time.RFC3339Nano)
	for i := range events {
		if i > 0 {
			body = append(body, ',')
		}
		body = fmt.Appendf(body, `{"id":%q,"occurred":%q,"event":%q,"resource":{"orch.resource.id":"flood.%d"},"payload":{"number":%d}}`,
			uuid.Must(uuid.NewV7()), now, name, i, i)
	}
	request, err := http.NewRequestWithContext(f.Context(), http.MethodPost, f.orch.API()+"/events", bytes.NewReader(append(body, ']')))
	if err != nil {
		return fmt.Errorf("make a request: %w", err)
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := f.client.HTTP.Do(request)
	if err != nil {
		return fmt.Errorf("send events: %w", err)
	}
	defer response.Body.Close()
	_, _ = io.Copy(io.Discard, response.Body) // So that the connection is used again.
	switch response.StatusCode {
	case http.StatusNoContent:
		if name == f.name {
			f.acknowledged.Add(int64(events))
		} else {
			f.probed.Add(1)
		}
	case http.StatusServiceUnavailable:
		f.delayed.Add(1)
	default:
		return fmt.Errorf("send events: %s", response.Status)
	}
	return nil
}

// stored is how many events of the flood can be read; -1 when there is no answer.
func (f *flood) stored() int64 {
	return int64(f.client.countEvents(f.Context(), f.orch, f.name))
}

package refusals_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/broker"
	"github.com/orch-project/orch/pkg/clock"
	"github.com/orch-project/orch/pkg/embeddednats"
	"github.com/orch-project/orch/pkg/testkit"
	"github.com/orch-project/orch/services/gateway/internal/refusals"
)

func TestMain(m *testing.M) { testkit.Main(m) }

func newLog() (*refusals.Log, *clock.Manual, *bytes.Buffer) {
	var out bytes.Buffer
	now := clock.NewManual(time.Date(2030, 1, 31, 12, 0, 0, 0, time.UTC))
	return refusals.New(refusals.Options{Clock: now, Log: slog.New(slog.NewTextHandler(&out, nil))}), now, &out
}

func TestRefusalsOfAWorkspace(t *testing.T) {
	t.Parallel()
	log, now, out := newLog()
	here, there := uuid.New(), uuid.New()
	sdk := refusals.Refusal{Client: "prefect/3.6.1", Address: "192.0.2.7"}
	proxied := refusals.Refusal{Address: "192.0.2.8", Events: true}
	for range 5 {
		log.Add(t.Context(), here, sdk)
	}
	require.Equal(t, 1, strings.Count(out.String(), "refused a client"), "repetitions are not logged")
	now.Advance(time.Minute)
	log.Add(t.Context(), here, proxied)
	found := log.Of(here)
	require.Len(t, found, 2)
	require.Equal(t, "192.0.2.8", found[0].Address, "the latest one is first")
	require.Equal(t, "prefect/3.6.1", found[1].Client)
	require.Empty(t, log.Of(there), "other workspaces do not see it")

	now.Advance(refusals.Lifetime - time.Second)
	require.Len(t, log.Of(here), 1)
	log.Add(t.Context(), here, sdk)
	require.Equal(t, 3, strings.Count(out.String(), "refused a client"))
	now.Advance(refusals.Lifetime)
	require.Empty(t, log.Of(here))
}

func TestRefusedEventsOfAClient(t *testing.T) {
	t.Parallel()
	log, now, _ := newLog()
	here, long := uuid.New(), strings.Repeat("x", 1000)
	log.Add(t.Context(), here, refusals.Refusal{Address: "192.0.2.8", Events: true})
	log.Add(t.Context(), here, refusals.Refusal{Client: long, Address: "192.0.2.8", Events: true})
	log.Add(t.Context(), here, refusals.Refusal{Client: "prefect/3.6.1", Address: "192.0.2.8"})
	require.True(t, log.RefusedEvents(here, "", "192.0.2.8"))
	require.True(t, log.RefusedEvents(here, long, "192.0.2.8"), "the text is bounded as it is recorded")
	require.False(t, log.RefusedEvents(here, "prefect/3.6.1", "192.0.2.8"), "another reason")
	require.False(t, log.RefusedEvents(here, "", "192.0.2.7"), "another address")
	require.False(t, log.RefusedEvents(uuid.New(), "", "192.0.2.8"), "another workspace")
	now.Advance(refusals.Lifetime)
	require.False(t, log.RefusedEvents(here, "", "192.0.2.8"))
}

func TestRefusalsAreBounded(t *testing.T) {
	t.Parallel()
	log, now, _ := newLog()
	first := uuid.New()
	for i := range 20 {
		log.Add(t.Context(), first, refusals.Refusal{Client: strings.Repeat("x", 1000), Address: fmt.Sprint(i)})
	}
	found := log.Of(first)
	require.Len(t, found, 8)
	require.Equal(t, "19", found[0].Address)
	require.Len(t, found[0].Client, 100)
	for range 1000 {
		now.Advance(time.Millisecond)
		log.Add(t.Context(), uuid.New(), refusals.Refusal{Client: "x"})
	}
	require.Empty(t, log.Of(first), "the oldest workspace gives way")
}

// TestGatewaysShareRefusals: a page shows a client that another gateway refused.
func TestGatewaysShareRefusals(t *testing.T) {
	t.Parallel()
	nats := testkit.StartNATS(t, embeddednats.Options{})
	logs := make([]*refusals.Log, 2)
	now := clock.NewManual(time.Date(2030, 1, 31, 12, 0, 0, 0, time.UTC))
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, len(logs))
	for i := range logs {
		conn, err := broker.Connect(t.Context(), broker.Config{InProcess: nats, AllowLazySync: true, Logger: slog.New(slog.DiscardHandler)})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, conn.Close()) })
		logs[i] = refusals.New(refusals.Options{Broker: conn, Clock: now, Log: slog.New(slog.DiscardHandler)})
		go func() { ended <- logs[i].Run(ctx) }()
	}
	workspace := uuid.New()
	require.Eventually(t, func() bool {
		now.Advance(time.Minute)
		logs[0].Add(t.Context(), workspace, refusals.Refusal{Client: "prefect/3.6.1", Address: "192.0.2.7"})
		return len(logs[1].Of(workspace)) == 1
	}, 20*time.Second, 5*time.Millisecond)
	require.Len(t, logs[0].Of(workspace), 1, "its own message is no second refusal")
	require.Empty(t, logs[1].Of(uuid.New()))
	cancel()
	for range logs {
		require.NoError(t, <-ended)
	}
}

package orchestration_test

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// TestCommandsOfABurst counts the commands that 100 created runs cost the database. Requests write one document each; the relay
// reads the outboxes of all of them with one command, executes their effects with one command a step, and reads nothing else.
func TestCommandsOfABurst(t *testing.T) {
	t.Parallel()
	const runs = 100
	d := newIdleDomain(t, slog.DiscardHandler)
	flow := d.flow("burst")
	d.monitor.commands()
	var group sync.WaitGroup
	for range runs {
		group.Go(func() { d.run(flow) })
	}
	group.Wait()
	requests := d.monitor.commands()
	require.Equal(t, runs, requests["insert flow_run"])
	require.LessOrEqual(t, requests["find flow by id"], runs, "concurrent requests share reads of the flow")
	t.Logf("%d runs: %d inserts, %d reads of their flow", runs, requests["insert flow_run"], requests["find flow by id"])
	delete(requests, "insert flow_run")
	delete(requests, "find flow by id")
	require.LessOrEqual(t, requests["find account by id"], runs, "the quota of stored bytes is read now and then, and not for each creation")
	delete(requests, "find account by id")
	require.LessOrEqual(t, requests["insert term"], runs, "concurrent requests share the insertion of new names")
	delete(requests, "insert term")
	delete(requests, "aggregate term") // The terms of a workspace are counted now and then.
	delete(requests, "hello ")         // The clock of the primary is sampled now and then.
	require.Empty(t, requests)

	// All effects are queued by now, so they are one batch.
	relayed := d.relayed()
	require.Equal(t, 1, relayed["insert flow_run_state"], "history rows of a batch")
	require.Equal(t, 1, relayed["update flow_run"], "executed effects of a batch")
	require.LessOrEqual(t, relayed["find flow by id"], 1, "the outbox of the flow, which its creation flushed")
	require.LessOrEqual(t, relayed["find flow_run by id"], 1, "the outboxes of a batch; what an effect needs travels in it")
	logCommands(t, relayed)
}

// relayed runs the relay, without the sweeper, until all outboxes are empty. It returns the commands that this took.
func (d *domain) relayed() map[string]int {
	d.t.Helper()
	_, relay := d.service.Parts()
	ctx, cancel := context.WithCancel(d.t.Context())
	var running sync.WaitGroup
	running.Go(func() { require.NoError(d.t, relay.Run(ctx)) })
	defer running.Wait()
	defer cancel()
	eventually(d.t, func() bool {
		pending, _, err := relay.Backlog(d.t.Context())
		return err == nil && pending == 0
	}, "executed effects")
	return d.monitor.commands()
}

// logCommands prints the commands, without the aggregates that sample the outboxes of all collections.
func logCommands(t *testing.T, sent map[string]int) {
	for _, command := range slices.Sorted(maps.Keys(sent)) {
		if strings.Contains(command, "flow") && !strings.HasPrefix(command, "aggregate") {
			t.Logf("%4d %s", sent[command], command)
		}
	}
}

// TestCommandsOfStates counts the commands of 100 runs that go through their states one after the other.
func TestCommandsOfStates(t *testing.T) {
	t.Parallel()
	const runs = 100
	d := newIdleDomain(t, slog.DiscardHandler)
	flow := d.flow("states")
	created := make([]*orchv1.FlowRun, runs)
	for i := range created {
		created[i] = d.run(flow)
	}
	d.relayed()
	for _, run := range created {
		d.setState(run, orchv1.StateType_STATE_TYPE_RUNNING)
		d.setState(run, orchv1.StateType_STATE_TYPE_COMPLETED)
	}
	sent := d.monitor.commands()
	require.Zero(t, sent["find flow by id"], "what an effect needs travels in it")
	require.LessOrEqual(t, sent["find flow_run by id"], 2*runs/10, "a process knows the runs that it wrote last")
	logCommands(t, sent)

	relayed := d.relayed()
	require.Zero(t, relayed["find flow by id"], "what an effect needs travels in it")
	require.LessOrEqual(t, relayed["find flow_run by id"], 1, "the outboxes of a batch")
	logCommands(t, relayed)
}

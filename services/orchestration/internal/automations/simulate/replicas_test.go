package simulate

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/orch-project/orch/services/orchestration/internal/automations/trigger"
)

var errCrash = errors.New("the process died")

// crashing is a backend whose process dies at some writes: before, in the middle of, or after one.
type crashing struct {
	*trigger.Memory
	dies func() int // 0: not; else where.
}

func (c *crashing) Save(ctx context.Context, records []*trigger.Record) error {
	switch c.dies() {
	case 1:
		return errCrash
	case 2:
		if err := c.Memory.Save(ctx, records[:len(records)/2]); err != nil {
			return err
		}
		return errCrash
	case 3:
		if err := c.Memory.Save(ctx, records); err != nil {
			return err
		}
		return errCrash
	}
	return c.Memory.Save(ctx, records)
}

func (c *crashing) Emit(ctx context.Context, firings []trigger.RootFiring) error {
	switch c.dies() {
	case 1:
		return errCrash
	case 2:
		if err := c.Memory.Emit(ctx, firings[:len(firings)/2]); err != nil {
			return err
		}
		return errCrash
	case 3:
		if err := c.Memory.Emit(ctx, firings); err != nil {
			return err
		}
		return errCrash
	}
	return c.Memory.Emit(ctx, firings)
}

// Every step may be evaluated by another of three replicas, which has nothing in memory but what is stored, and each of
// them dies at writes. The firings of an automation stay the same set.
func TestReplicasFireTheSameSetWhenTheyDieAtWrites(t *testing.T) {
	t.Parallel()
	cases := readCases(t)
	rapid.Check(t, func(t *rapid.T) {
		c := &cases[rapid.IntRange(0, len(cases)-1).Draw(t, "case")]
		requireSameSet(t, c, func(what string, limit int) int { return rapid.IntRange(0, limit).Draw(t, what) })
	})
}

// Every case once, with one failover and one death at each step.
func TestReplicasFireTheVectors(t *testing.T) {
	t.Parallel()
	cases := readCases(t)
	for i := range cases {
		n := 0
		requireSameSet(t, &cases[i], func(_ string, limit int) int { n++; return n * 7 / 3 % (limit + 1) })
	}
	t.Logf("replicas: %d of %d cases fire the same set", len(cases), len(cases))
}

func readCases(t *testing.T) []Case {
	t.Helper()
	f, err := os.Open("testdata/vectors.jsonl")
	require.NoError(t, err)
	defer func() { require.NoError(t, f.Close()) }()
	var cases []Case
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var c Case
		require.NoError(t, json.Unmarshal(lines.Bytes(), &c))
		cases = append(cases, c)
	}
	require.NoError(t, lines.Err())
	return cases
}

func requireSameSet(t require.TestingT, c *Case, draw func(what string, limit int) int) {
	alone, err := c.begin()
	require.NoError(t, err, c.Name)
	for i := range c.Steps {
		require.NoError(t, alone.take(&c.Steps[i]), c.Name)
	}

	r, err := c.begin()
	require.NoError(t, err, c.Name)
	deaths := 0
	r.backend = &crashing{Memory: r.memory, dies: func() int {
		if deaths == 0 {
			return 0
		}
		where := draw("death", 3)
		if where > 0 {
			deaths--
		}
		return where
	}}
	cluster := &cluster{run: r, done: map[uuid.UUID]time.Time{}, held: map[uuid.UUID]*trigger.Deferred{}}
	leader := 0
	for i := range c.Steps {
		cluster.now = c.Steps[i].At
		if next := draw("replica", 2); next != leader {
			leader = next
			cluster.failover()
		}
		deaths = draw("deaths", 2)
		for {
			err := r.take(&c.Steps[i])
			if err == nil {
				break
			}
			require.ErrorIs(t, err, errCrash, c.Name)
			cluster.failover() // The step comes again: its event is not acknowledged, its timer still due.
			cluster.recover(c.Steps[i].At)
		}
		cluster.settled(&c.Steps[i])
	}
	require.Equal(t, roots(alone), roots(r), c.Name)
}

// cluster is what the replicas share beside buckets: stored events, and held ones.
type cluster struct {
	run  *run
	now  time.Time // Of the current step.
	done map[uuid.UUID]time.Time
	held map[uuid.UUID]*trigger.Deferred
}

// failover makes the run that of a replica that knows what is stored.
func (c *cluster) failover() {
	c.run.order = trigger.NewOrder(func(leader uuid.UUID) bool {
		at, ok := c.done[leader]
		return ok && c.now.Sub(at) < 30*time.Minute
	})
	c.run.order.Restore(slices.Collect(maps.Values(c.held)), c.now)
}

// recover passes on what is pending, as a replica that takes over does.
func (c *cluster) recover(now time.Time) {
	if c.run.automation == nil {
		return
	}
	a := c.run.set.Automation(uuid.MustParse(c.run.automation.GetId()))
	session := trigger.NewSession(c.run.memory, now)
	for id, b := range c.run.memory.Unsettled() {
		if n := a.Node(uuid.MustParse(b.GetTriggerId())); n != nil {
			_ = session.PreloadTimers(c.run.ctx, c.run.workspace, map[uuid.UUID]*trigger.Node{id: n})
		}
	}
	_ = session.Commit(c.run.ctx)
}

// settled notes what a step that is over has left.
func (c *cluster) settled(s *Step) {
	held := maps.Clone(c.run.order.Deferred())
	for id, h := range c.held {
		if held[id] == nil {
			c.done[uuid.MustParse(h.Event.GetId())] = s.At
		}
	}
	c.held = held
	if s.Event == nil {
		return
	}
	e, err := readEvent(s.Event)
	if err != nil {
		return
	}
	if id := uuid.MustParse(e.GetId()); held[id] == nil {
		if at, ok := c.done[id]; !ok || s.At.Sub(at) >= 30*time.Minute {
			c.done[id] = s.At
		}
	}
}

// roots are the firings of a run's automation, as text.
func roots(r *run) []string {
	texts := make([]string, 0, len(r.memory.Firings))
	for _, f := range r.memory.Firings {
		labels, _ := json.Marshal(f.Firing.GetLabels())
		texts = append(texts, fmt.Sprintf("%d %s %s", f.Firing.GetTriggered(), f.Firing.GetEvent().GetId(), labels))
	}
	slices.Sort(texts)
	return texts
}

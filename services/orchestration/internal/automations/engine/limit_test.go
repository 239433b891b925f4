package engine

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/orch-project/orch/pkg/clock"
	wire "github.com/orch-project/orch/pkg/events"
	"github.com/orch-project/orch/pkg/vocabulary"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/automations/trigger"
	"github.com/orch-project/orch/services/orchestration/internal/store/storetest"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// newTestTenant returns a tenant with a store and without a broker. Its automations are given.
func newTestTenant(t *testing.T, bounds Bounds, automations ...*trigger.Automation) *workspaceEvaluator {
	t.Helper()
	e := New(Deps{
		Store: storetest.Embedded(t, clock.NewManual(noon)), Vocabulary: vocabulary.Orch, Log: slog.New(slog.DiscardHandler), Bounds: bounds,
	})
	one := e.evaluator(uuid.New())
	one.loaded, one.order = true, trigger.NewOrder(nil)
	one.use(trigger.NewSet(automations...))
	return one
}

// everyGo is an automation that fires on each event "go", in a workspace.
func everyGo(t *testing.T, ws uuid.UUID) *trigger.Automation {
	t.Helper()
	return reacting(t, ws, "go")
}

// reacting is an automation that fires on each event of a name.
func reacting(t *testing.T, ws uuid.UUID, name string) *trigger.Automation {
	t.Helper()
	compiled, err := trigger.Compile(ws, &orchv1.Automation{
		Id: uuid.NewString(), Enabled: true, Trigger: &orchv1.Trigger{Kind: &orchv1.Trigger_Event{Event: &orchv1.EventTrigger{
			Id: uuid.NewString(), Expect: []string{name}, Threshold: 1, Posture: orchv1.Posture_POSTURE_REACTIVE,
		}}},
	}, vocabulary.Orch)
	require.NoError(t, err)
	return compiled
}

func goEvent(id uuid.UUID) *orchv1.ReceivedEvent {
	return &orchv1.ReceivedEvent{
		Id: id.String(), Event: "go", Occurred: timestamppb.New(noon), Received: timestamppb.New(noon),
		Resource: &orchv1.Resource{Labels: map[string]string{"orch.resource.id": "all"}},
	}
}

var errOffline = errors.New("the store is offline")

// offline is a backend whose writes fail while down.
type offline struct {
	*trigger.Memory
	down bool
}

func (b *offline) Save(ctx context.Context, records []*trigger.Record) error {
	if b.down {
		return errOffline
	}
	return b.Memory.Save(ctx, records)
}

// Evaluations that are repeated after an outage count their firings once, so an outage does not use up a limit.
func TestAnOutageDoesNotUseUpALimit(t *testing.T) {
	t.Parallel()
	a := everyGo(t, uuid.New())
	one := newTestTenant(t, Bounds{FiringsPerMinute: 1, AccountFiringsPerMinute: 1}, a)
	one.account = uuid.New()
	backend := &offline{Memory: trigger.NewMemory(), down: true}
	e := goEvent(uuid.New())
	evaluate := func() error {
		session := trigger.NewSession(backend, noon)
		require.NoError(t, session.Event(t.Context(), a.Leaves[0], e))
		return one.commit(t.Context(), session)
	}
	for range 5 {
		require.ErrorIs(t, evaluate(), errOffline)
	}
	backend.down = false
	require.NoError(t, evaluate())
	require.Len(t, backend.Firings, 1)
	require.Empty(t, one.reached)
}

// A limit is reported once per window, whichever limit it is.
func TestALimitIsReportedOncePerWindow(t *testing.T) {
	t.Parallel()
	a := everyGo(t, uuid.New())
	one := newTestTenant(t, Bounds{}, a)
	for _, limit := range []string{limitChain, limitFirings, limitAccountFirings, limitKeys} {
		for _, window := range []int64{7, 7, 8, 8} {
			require.False(t, one.refuse(t.Context(), a.ID, limited{a.Message, limit, 10, window}))
		}
	}
	require.Len(t, one.reached, 4*2)
}

// The memory of an automation is freed with it.
func TestLimitsOfDeletedAutomationsAreForgotten(t *testing.T) {
	t.Parallel()
	stays, gone := everyGo(t, uuid.New()), everyGo(t, uuid.New())
	one := newTestTenant(t, Bounds{KeysPerAutomation: 1}, stays, gone)
	one.account = uuid.New()
	for _, a := range []*trigger.Automation{stays, gone} {
		require.True(t, one.admitKey(t.Context(), a.Leaves[0]))
		require.False(t, one.admitKey(t.Context(), a.Leaves[0]))
	}
	one.refuse(t.Context(), one.account, limited{stays.Message, limitAccountFirings, 1, 1})
	one.use(trigger.NewSet(stays))
	require.Len(t, one.keys, 1)
	require.Contains(t, one.keys, stays.ID)
	require.Len(t, one.windows, 2, "those of the automation that stays, and of the account")
}

// The firings that one event causes through other firings are bounded, however many automations there are.
func TestChainsOfAnEventAreBounded(t *testing.T) {
	t.Parallel()
	a, b := everyGo(t, uuid.New()), everyGo(t, uuid.New())
	one := newTestTenant(t, Bounds{}, a, b)
	root := uuid.New()
	v := vocabulary.Orch
	direct := &orchv1.AutomationFiring{Id: uuid.NewString(), Event: goEvent(root)}
	fired := func(f *orchv1.AutomationFiring) *orchv1.ReceivedEvent {
		sent, err := Triggered(v, b.Message, f, noon, uuid.New())
		require.NoError(t, err)
		event, _, err := wire.FromBroker(sent)
		require.NoError(t, err)
		return event
	}
	triggered := fired(direct)
	require.NotContains(t, triggered.GetResource().GetLabels(), chainLabel(v))
	second := &orchv1.AutomationFiring{Id: uuid.NewString(), Event: triggered}
	require.Equal(t, 2, ChainDepth(v, second))
	require.Equal(t, root, chainRoot(v, second))
	third := &orchv1.AutomationFiring{Id: uuid.NewString(), Event: fired(second)}
	require.Equal(t, 3, ChainDepth(v, third))
	require.Equal(t, root, chainRoot(v, third))

	count := func(in *Counter, id uuid.UUID) int { return in.Add(id, noon) }
	allowed := 0
	for range maxChained {
		for _, f := range []*orchv1.AutomationFiring{direct, second, third} {
			if one.allow(t.Context(), trigger.RootFiring{Automation: a, Firing: f}, noon, count) {
				allowed++
			}
		}
	}
	require.Equal(t, 2*maxChained, allowed, "the direct firings, and as many of the others as the bound permits")
	require.Len(t, one.reached, 1)
	require.Equal(t, limitChained, one.reached[0].limit)
}

// The event that a limit was reached fires automations that name it, and none that take all events.
func TestLimitEventsFireOnlyWhoNamesThem(t *testing.T) {
	t.Parallel()
	compile := func(expect string) *trigger.Automation { return reacting(t, uuid.New(), expect) }
	all, prefix, named := compile("*"), compile("orch.automation.*"), compile("orch.automation.limit-reached")
	set := trigger.NewSet(all, prefix, named)
	event := func(name, resource string) *orchv1.ReceivedEvent {
		return &orchv1.ReceivedEvent{Id: uuid.NewString(), Event: name, Resource: &orchv1.Resource{Labels: map[string]string{"orch.resource.id": resource}}}
	}
	reached := event("orch.automation.limit-reached", "orch.automation."+uuid.NewString())
	require.Equal(t, named.Leaves, matchingTriggers(vocabulary.Orch, set, reached).nodes)
	require.Empty(t, matchingTriggers(vocabulary.Orch, set, event("orch.automation.limit-reached", "orch.automation."+named.ID.String())).nodes, "not its own")
	require.Equal(t, named.Leaves, matchingTriggers(vocabulary.Orch, set, event("orch.automation.limit-reached", "orch.workspace.x")).nodes)
	require.Len(t, matchingTriggers(vocabulary.Orch, set, event("orch.automation.triggered", "orch.automation."+uuid.NewString())).nodes, 2)
}

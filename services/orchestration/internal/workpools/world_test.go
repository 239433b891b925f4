package workpools

import (
	"context"
	"encoding/json"
	"log/slog"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/orch-project/orch/pkg/clock"
	"github.com/orch-project/orch/pkg/testkit"
	"github.com/orch-project/orch/pkg/vocabulary"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/concurrency"
	"github.com/orch-project/orch/services/orchestration/internal/events"
	"github.com/orch-project/orch/services/orchestration/internal/query"
	"github.com/orch-project/orch/services/orchestration/internal/resourceid/requesttest"
	"github.com/orch-project/orch/services/orchestration/internal/store"
	"github.com/orch-project/orch/services/orchestration/internal/store/storetest"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// world is the service on an embedded store, at a time that stands still until it is moved. Nothing executes effects, so
// outboxes keep the events.
type world struct {
	testing.TB
	clock   *clock.Manual
	store   *store.Store
	service *Service
	ws      uuid.UUID
	ctx     context.Context
	earlier bool  // Runs are stored as by versions without ranks.
	weight  int64 // Of the runs; 0 is none.
}

// idle is the readiness of no deployments.
type idle struct{}

func (idle) Ready(context.Context, uuid.UUID, []uuid.UUID) error { return nil }
func (idle) Unready(context.Context, time.Time) error            { return nil }

func newWorld(t testing.TB) *world {
	t.Helper()
	w := &world{TB: t, clock: clock.NewManual(time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)), ws: uuid.New()}
	w.store = storetest.New(t, w.clock)
	w.service = New(NewPools(PoolsDeps{
		Store: w.store, Vocabulary: vocabulary.Orch, Log: slog.New(slog.DiscardHandler), Limits: concurrency.NewLimits(w.store, vocabulary.Orch, nil),
		Block: func(context.Context, uuid.UUID, uuid.UUID) (json.RawMessage, bool, error) { return nil, false, nil },
	}), idle{})
	w.ctx = requesttest.Incoming(t, w.ws)
	return w
}

func (w *world) pool(name string) *orchv1.WorkPool {
	w.Helper()
	pool, err := w.service.CreateWorkPool(w.ctx, &orchv1.CreateWorkPoolRequest{WorkPool: &orchv1.WorkPoolCreate{Name: name, Type: "process"}})
	require.NoError(w, err)
	return pool
}

func (w *world) read(name string) *orchv1.WorkPool {
	w.Helper()
	pool, err := w.service.ReadWorkPool(w.ctx, &orchv1.ReadWorkPoolRequest{Name: name})
	require.NoError(w, err)
	return pool
}

// eventNames are the names of the events of a document, in order.
func (w *world) eventNames(collection query.Collection, id string) []string {
	w.Helper()
	effects, err := w.store.Pending(w.ctx, collection, store.DocumentKey{ID: uuid.MustParse(id)})
	require.NoError(w, err)
	var names []string
	for _, e := range effects {
		if e.Kind == events.KindPublish {
			event := &orchv1.ReceivedEvent{}
			require.NoError(w, proto.Unmarshal(e.Body[16:], event))
			names = append(names, event.GetEvent())
		}
	}
	return names
}

package deadletters_test

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strconv"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/broker"
	"github.com/orch-project/orch/pkg/clock"
	"github.com/orch-project/orch/pkg/embeddednats"
	"github.com/orch-project/orch/pkg/rpc"
	"github.com/orch-project/orch/pkg/testkit"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/deadletters"
	"github.com/orch-project/orch/services/orchestration/internal/outbox"
	"github.com/orch-project/orch/services/orchestration/internal/query"
	"github.com/orch-project/orch/services/orchestration/internal/store"
	"github.com/orch-project/orch/services/orchestration/internal/store/storetest"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// secret is in the content of every dead letter of the tests.
const secret = "canary"

// newService returns a service with dead letters of both sources: that many effects and events.
func newService(t *testing.T, effects, events int) (service *deadletters.Service, effectIDs []string) {
	t.Helper()
	s := storetest.Embedded(t, clock.System{})
	log := slog.New(slog.DiscardHandler)
	nats, err := embeddednats.Start(embeddednats.Options{Dir: t.TempDir(), Logger: log})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, nats.Close()) })
	conn, err := broker.Connect(t.Context(), broker.Config{InProcess: nats.InProcess(), Logger: log})
	require.NoError(t, err)
	t.Cleanup(func() { conn.Close() })

	for range effects {
		letter := store.DeadLetter{
			ID: uuid.Must(uuid.NewV7()), Workspace: uuid.New(), Kind: "publish", Collection: query.Flow, Document: uuid.New(),
			At: time.Now(), FailedAt: time.Now(), Attempts: 3, Reason: "event too large", Body: []byte(secret),
		}
		require.NoError(t, s.InsertDeadLetter(t.Context(), letter))
		effectIDs = append(effectIDs, letter.ID.String())
	}
	reject(t, conn, events)
	relay := outbox.New(outbox.Config{Store: s, Handlers: outbox.NewMux(), Log: log})
	return deadletters.New(s, relay, conn), effectIDs
}

// reject publishes events that the persister rejects, and waits for their dead letters.
func reject(t *testing.T, conn *broker.Conn, events int) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	handled, done := make(chan struct{}, events+1), make(chan error, 1)
	go func() {
		done <- conn.Consume(ctx, broker.DurablePersist, broker.ConsumeOptions{}, func(_ context.Context, batch []broker.Event) error {
			rejected := &broker.Rejected{}
			for _, e := range batch {
				rejected.Reject(e.Key(), errors.New("no such flow"))
				handled <- struct{}{}
			}
			return rejected.Err()
		})
	}()
	ws := uuid.New()
	for range events {
		require.NoError(t, conn.Publisher().Publish(t.Context(), broker.Event{
			ID: uuid.Must(uuid.NewV7()), Source: "test", Type: "test", Workspace: ws, Data: []byte(`"` + secret + `"`),
		}))
	}
	for range events {
		<-handled
	}
	require.Eventually(t, func() bool {
		letters, err := conn.DeadLetters(t.Context(), "", 0, events+1)
		return err == nil && len(letters) == events
	}, time.Minute, 10*time.Millisecond)
	cancel()
	require.NoError(t, <-done)
}

// Pages of any size list the effects before the events, each once, without their content.
func TestPagesSpanBothSources(t *testing.T) {
	t.Parallel()
	s, effectIDs := newService(t, 3, 2)
	for size := int64(1); size <= 6; size++ {
		var ids []string
		q := &orchv1.DeadLetterQuery{Limit: &orchv1.PageLimit{Value: size}}
		for {
			page, err := s.ReadDeadLetters(t.Context(), &orchv1.ReadDeadLettersRequest{Query: q})
			require.NoError(t, err)
			require.LessOrEqual(t, int64(len(page.GetDeadLetters())), size)
			if len(page.GetDeadLetters()) == 0 {
				break
			}
			for _, d := range page.GetDeadLetters() {
				require.NotContains(t, d.String(), secret)
				ids = append(ids, d.GetId())
			}
			q.After = &ids[len(ids)-1]
		}
		require.Len(t, ids, 5)
		require.Equal(t, effectIDs, ids[:3])
		for _, id := range ids[3:] {
			_, err := strconv.ParseUint(id, 10, 64)
			require.NoError(t, err)
		}
	}
}

func TestReadAndDiscard(t *testing.T) {
	t.Parallel()
	s, effectIDs := newService(t, 1, 1)
	list, err := s.ReadDeadLetters(t.Context(), &orchv1.ReadDeadLettersRequest{})
	require.NoError(t, err)
	require.Len(t, list.GetDeadLetters(), 2)
	for i, source := range []orchv1.DeadLetterSource{
		orchv1.DeadLetterSource_DEAD_LETTER_SOURCE_OUTBOX, orchv1.DeadLetterSource_DEAD_LETTER_SOURCE_BROKER,
	} {
		id := list.GetDeadLetters()[i].GetId()
		one, err := s.ReadDeadLetter(t.Context(), &orchv1.ReadDeadLetterRequest{Id: id})
		require.NoError(t, err)
		require.Equal(t, source, one.GetSource())
		require.NotEmpty(t, one.GetReason())
	}
	require.Equal(t, effectIDs[0], list.GetDeadLetters()[0].GetId())

	event := list.GetDeadLetters()[1].GetId()
	_, err = s.DiscardDeadLetter(t.Context(), &orchv1.DiscardDeadLetterRequest{Id: event})
	require.NoError(t, err)
	_, err = s.ReadDeadLetter(t.Context(), &orchv1.ReadDeadLetterRequest{Id: event})
	requireNotFound(t, err)
}

// An id that is neither a UUID nor a number, and an unknown one, return 404 from every operation.
func TestUnknownIDs(t *testing.T) {
	t.Parallel()
	s, _ := newService(t, 0, 0)
	for _, id := range []string{"", "x", "-1", "1.5", "18446744073709551616", "7", uuid.NewString()} {
		_, err := s.ReadDeadLetter(t.Context(), &orchv1.ReadDeadLetterRequest{Id: id})
		requireNotFound(t, err)
		_, err = s.RetryDeadLetter(t.Context(), &orchv1.RetryDeadLetterRequest{Id: id})
		requireNotFound(t, err)
		_, err = s.DiscardDeadLetter(t.Context(), &orchv1.DiscardDeadLetterRequest{Id: id})
		requireNotFound(t, err)
	}
	_, err := s.ReadDeadLetters(t.Context(), &orchv1.ReadDeadLettersRequest{Query: &orchv1.DeadLetterQuery{After: new("x")}})
	requireNotFound(t, err)
}

func requireNotFound(t *testing.T, err error) {
	t.Helper()
	require.EqualValues(t, http.StatusNotFound, rpc.HTTPError(err).GetStatus())
}

package stream_test

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/broker"
	"github.com/orch-project/orch/pkg/embeddednats"
	"github.com/orch-project/orch/pkg/feeds"
	"github.com/orch-project/orch/pkg/logs"
	"github.com/orch-project/orch/pkg/request"
	"github.com/orch-project/orch/pkg/rpc"
	"github.com/orch-project/orch/pkg/testkit"
	"github.com/orch-project/orch/pkg/vocabulary"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/gateway/internal/stream"
)

var errRevoked = rpc.Detail(http.StatusUnauthorized, "Unauthorized")

// followed is a page that follows one webhook and the logs of errors.
type followed struct {
	conn    *websocket.Conn
	broker  *broker.Conn
	webhook uuid.UUID
	revoked atomic.Bool
}

func follow(t *testing.T) *followed {
	t.Helper()
	quiet := slog.New(slog.DiscardHandler)
	nats := testkit.StartNATS(t, embeddednats.Options{})
	conn, err := broker.Connect(t.Context(), broker.Config{InProcess: nats, Logger: quiet})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, conn.Close()) })
	f := &followed{broker: conn, webhook: uuid.New()}
	s := stream.New(stream.Options{Caller: rpc.NewLocal(), Broker: conn, Vocabulary: vocabulary.Orch, Max: 10, Readmit: 10 * time.Millisecond, Log: quiet})
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		watch := stream.Watch{
			Log:      func(l *orchv1.Log) bool { return l.GetLevel() >= 40 },
			Delivery: func(webhook uuid.UUID) bool { return webhook == f.webhook },
		}
		admit := func() (request.Info, error) {
			if f.revoked.Load() {
				return request.Info{}, errRevoked
			}
			return request.Info{Account: request.DefaultAccount, Workspace: request.DefaultWorkspace}, nil
		}
		if err := s.ServeLive(w, r, watch, stream.Client{}, admit); err != nil {
			http.Error(w, err.Error(), http.StatusForbidden)
		}
	}))
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), waitTimeout)
		defer cancel()
		require.NoError(t, s.Close(ctx))
		web.Close()
	})
	f.conn, _, err = websocket.Dial(t.Context(), strings.Replace(web.URL, "http", "ws", 1), nil) //nolint:bodyclose // The connection is the body; Dial leaves nothing else to close.
	require.NoError(t, err)
	t.Cleanup(func() { _ = f.conn.CloseNow() })
	require.JSONEq(t, `{"type":"following"}`, f.read(t))
	return f
}

func (f *followed) read(t *testing.T) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), waitTimeout)
	defer cancel()
	_, message, err := f.conn.Read(ctx)
	require.NoError(t, err)
	return string(message)
}

// TestInvalidations changes what a page follows, once and many times at once. There are an invalidation for the first change and one after
// the others have settled, and none about other objects and workspaces.
func TestInvalidations(t *testing.T) {
	t.Parallel()
	f := follow(t)
	deliveries, lines := feeds.Deliveries(f.broker), f.broker.Live(logs.Feed)
	other := uuid.New()
	require.NoError(t, deliveries.Publish(request.DefaultWorkspace, other))
	require.NoError(t, deliveries.Publish(uuid.New(), f.webhook))
	quiet, err := logs.Split([]*orchv1.Log{{Level: 20}})
	require.NoError(t, err)
	require.NoError(t, lines.Publish(request.DefaultWorkspace, quiet[0]))
	require.NoError(t, deliveries.Publish(request.DefaultWorkspace, f.webhook))
	require.JSONEq(t, `{"type":"changed"}`, f.read(t))
	for range 100 {
		require.NoError(t, deliveries.Publish(request.DefaultWorkspace, f.webhook))
	}
	require.JSONEq(t, `{"type":"changed"}`, f.read(t), "after the changes have settled")

	loud, err := logs.Split([]*orchv1.Log{{Level: 40}})
	require.NoError(t, err)
	require.NoError(t, lines.Publish(request.DefaultWorkspace, loud[0]))
	require.JSONEq(t, `{"type":"changed"}`, f.read(t))
}

// TestAFollowerLosesItsPermission closes the socket of a page whose reader was removed.
func TestAFollowerLosesItsPermission(t *testing.T) {
	t.Parallel()
	f := follow(t)
	f.revoked.Store(true)
	ctx, cancel := context.WithTimeout(t.Context(), waitTimeout)
	defer cancel()
	_, _, err := f.conn.Read(ctx)
	require.Equal(t, websocket.StatusPolicyViolation, websocket.CloseStatus(err), err)
}

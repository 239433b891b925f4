package transcode

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/orch-project/orch/pkg/admission"
	"github.com/orch-project/orch/pkg/openapi"
	"github.com/orch-project/orch/pkg/request"
	"github.com/orch-project/orch/pkg/rpc"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// blocking answers calls once it is released.
type blocking struct{ entered, release chan struct{} }

func (b blocking) Call(context.Context, string, proto.Message) (proto.Message, rpc.Reply, error) {
	b.entered <- struct{}{}
	<-b.release
	return &orchv1.FlowList{}, rpc.Reply{}, nil
}

// A workspace has a bounded number of requests with large bodies in progress. Its small ones, and those of others, go on.
func TestLargeBodiesOfAWorkspaceAreServedInTurns(t *testing.T) {
	t.Parallel()
	caller := blocking{make(chan struct{}), make(chan struct{})}
	api, err := New(Options{
		Services:   openapi.Services(),
		Caller:     func(string) rpc.Caller { return caller },
		Authorizer: everybody{},
		Large:      admission.NewSemaphore(admission.Bounds{PerKey: 1}),
		Log:        slog.New(slog.DiscardHandler),
	})
	require.NoError(t, err)
	first, second := uuid.NewString(), uuid.NewString()
	send := func(ws string, size int) int {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/flows/filter",
			strings.NewReader(`{"flows":{"name":{"any_":["`+strings.Repeat("a", size)+`"]}}}`))
		w := httptest.NewRecorder()
		api.Serve(w, r, RequestScope{Info: request.Info{Workspace: uuid.MustParse(ws)}})
		return w.Code
	}
	answers := make(chan int)
	for _, c := range []struct {
		ws   string
		size int
	}{{first, largeBody}, {first, 1}, {second, largeBody}} {
		go func() { answers <- send(c.ws, c.size) }()
		<-caller.entered
	}
	require.Equal(t, http.StatusTooManyRequests, send(first, largeBody))
	close(caller.release)
	for range 3 {
		require.Equal(t, http.StatusOK, <-answers)
	}
	go func() { answers <- send(first, largeBody) }()
	<-caller.entered
	require.Equal(t, http.StatusOK, <-answers)
}

// A request that waits for others of its workspace does not make those of other workspaces wait, however large all are.
func TestAWaitingWorkspaceLetsOthersBegin(t *testing.T) {
	t.Parallel()
	caller := blocking{make(chan struct{}), make(chan struct{})}
	api, err := New(Options{
		Services:   openapi.Services(),
		Caller:     func(string) rpc.Caller { return caller },
		Authorizer: everybody{},
		Admission:  admission.New(admission.DefaultMemory),
		Large:      admission.NewSemaphore(admission.Bounds{PerKey: 1, Queue: 100, Wait: time.Hour}),
		Log:        slog.New(slog.DiscardHandler),
	})
	require.NoError(t, err)
	answers := make(chan int)
	send := func(ws string) {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/flows/filter",
			strings.NewReader(`{"flows":{"name":{"any_":["`+strings.Repeat("a", 2*admission.LargeBody)+`"]}}}`))
		w := httptest.NewRecorder()
		id := uuid.MustParse(ws)
		api.Serve(w, r, RequestScope{Info: request.Info{Account: id, Workspace: id}})
		answers <- w.Code
	}
	busy := uuid.NewString()
	const requests = 20
	for range requests {
		go send(busy)
	}
	<-caller.entered // One is served, and the others wait behind it.
	for range 3 {
		go send(uuid.NewString())
		<-caller.entered
	}
	close(caller.release)
	go func() {
		for range requests - 1 {
			<-caller.entered
		}
	}()
	for range requests + 3 {
		require.Equal(t, http.StatusOK, <-answers)
	}
}

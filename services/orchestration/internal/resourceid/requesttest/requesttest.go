// Package requesttest makes the contexts of calls, for tests of what serves them.
package requesttest

import (
	"context"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"github.com/orch-project/orch/pkg/request"
)

// Incoming is the test's context as the gateway makes it for a call that is bound to a workspace.
func Incoming(t testing.TB, ws uuid.UUID) context.Context {
	t.Helper()
	return With(t, request.Info{Account: request.DefaultAccount, Workspace: ws})
}

// With is the test's context as the gateway makes it for a call of which it knows that. The status and the headers that
// the answer is given go nowhere.
func With(t testing.TB, info request.Info) context.Context {
	t.Helper()
	md, ok := metadata.FromOutgoingContext(request.Outgoing(t.Context(), info))
	require.True(t, ok)
	return grpc.NewContextWithServerTransportStream(metadata.NewIncomingContext(t.Context(), md), nowhere{})
}

// nowhere takes an answer's headers.
type nowhere struct{}

func (nowhere) Method() string               { return "" }
func (nowhere) SetHeader(metadata.MD) error  { return nil }
func (nowhere) SendHeader(metadata.MD) error { return nil }
func (nowhere) SetTrailer(metadata.MD) error { return nil }

package rpc_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/orch-project/orch/pkg/request"
	"github.com/orch-project/orch/pkg/rpc"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// flows is the service under test.
type flows struct {
	orchv1.UnimplementedFlowServiceServer
	seen *orchv1.CreateFlowRequest
}

func (f *flows) CreateFlow(ctx context.Context, r *orchv1.CreateFlowRequest) (*orchv1.Flow, error) {
	f.seen = r
	info, err := request.Incoming(ctx)
	if err != nil {
		return nil, status.Error(codes.Unauthenticated, err.Error())
	}
	if err := errors.Join(rpc.SetStatus(ctx, http.StatusCreated), rpc.SetHeader(ctx, "X-Made-By", "test")); err != nil {
		return nil, err
	}
	return &orchv1.Flow{Name: r.GetFlow().GetName(), Id: info.Workspace.String()}, nil
}

func (f *flows) ReadFlow(context.Context, *orchv1.ReadFlowRequest) (*orchv1.Flow, error) {
	return nil, rpc.Detail(http.StatusNotFound, "Flow not found")
}

func (f *flows) DeleteFlow(context.Context, *orchv1.DeleteFlowRequest) (*emptypb.Empty, error) {
	panic("on purpose")
}

func (f *flows) ReadFlows(context.Context, *orchv1.ReadFlowsRequest) (*orchv1.FlowList, error) {
	return &orchv1.FlowList{Flows: []*orchv1.Flow{{Name: "message"}}}, nil
}

// appendFlows is the JSON handler of ReadFlows. It fails for an offset below zero, and pads the list for one above zero.
func (f *flows) appendFlows(ctx context.Context, r *orchv1.ReadFlowsRequest, dst []byte) ([]byte, error) {
	offset := int(r.GetQuery().GetOffset())
	if offset < 0 {
		return append(dst, "half"...), rpc.Detail(http.StatusNotFound, "Flow not found")
	}
	return append(append(dst, `[{"name":"json"}]`...), bytes.Repeat([]byte(" "), offset)...), rpc.SetHeader(ctx, "X-Made-By", "test")
}

func (f *flows) register(r rpc.Registrar) {
	orchv1.RegisterFlowServiceServer(r, f)
	rpc.HandleJSON(r, orchv1.FlowService_ReadFlows_FullMethodName, f.appendFlows)
}

// both runs a test over gRPC and in process, which must not differ.
func both(t *testing.T, test func(t *testing.T, caller rpc.JSONCaller, server *flows)) {
	quiet := rpc.Recover(slog.New(slog.DiscardHandler))
	t.Run("local", func(t *testing.T) {
		server := &flows{}
		local := rpc.NewLocal(quiet)
		server.register(local)
		test(t, local, server)
	})
	t.Run("remote", func(t *testing.T) {
		server := &flows{}
		s := rpc.NewServer(quiet)
		server.register(s)
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- s.Serve(ctx, ln) }()
		conn, err := rpc.Dial(ln.Addr().String(), rpc.DialOptions{Log: slog.New(slog.DiscardHandler)})
		require.NoError(t, err)
		test(t, rpc.NewRemote(conn), server)
		require.NoError(t, conn.Close())
		cancel()
		require.NoError(t, <-done)
	})
}

func TestCallCarriesMetadataStatusAndHeaders(t *testing.T) {
	both(t, func(t *testing.T, caller rpc.JSONCaller, _ *flows) {
		ctx := request.Outgoing(t.Context(), request.Info{Account: request.DefaultAccount, Workspace: request.DefaultWorkspace})
		response, reply, err := caller.Call(ctx, orchv1.FlowService_CreateFlow_FullMethodName,
			&orchv1.CreateFlowRequest{Flow: &orchv1.FlowCreate{Name: "etl"}})
		require.NoError(t, err)
		require.Equal(t, "etl", response.(*orchv1.Flow).GetName())
		require.Equal(t, request.DefaultWorkspace.String(), response.(*orchv1.Flow).GetId())
		require.Equal(t, rpc.Reply{Status: 201, Header: map[string]string{"x-made-by": "test"}}, reply)
	})
}

func TestCallWithoutWorkspace(t *testing.T) {
	both(t, func(t *testing.T, caller rpc.JSONCaller, _ *flows) {
		_, _, err := caller.Call(t.Context(), orchv1.FlowService_CreateFlow_FullMethodName, &orchv1.CreateFlowRequest{})
		require.Equal(t, int32(http.StatusUnauthorized), rpc.HTTPError(err).GetStatus())
	})
}

func TestErrorCarriesTheHTTPAnswer(t *testing.T) {
	both(t, func(t *testing.T, caller rpc.JSONCaller, _ *flows) {
		_, _, err := caller.Call(t.Context(), orchv1.FlowService_ReadFlow_FullMethodName, &orchv1.ReadFlowRequest{})
		require.Equal(t, codes.NotFound, status.Code(err))
		require.Equal(t, int32(404), rpc.HTTPError(err).GetStatus())
		require.Equal(t, "Flow not found", rpc.HTTPError(err).GetDetail())
	})
}

func TestPanicIsAnInternalError(t *testing.T) {
	both(t, func(t *testing.T, caller rpc.JSONCaller, _ *flows) {
		_, _, err := caller.Call(t.Context(), orchv1.FlowService_DeleteFlow_FullMethodName, &orchv1.DeleteFlowRequest{})
		require.Equal(t, int32(500), rpc.HTTPError(err).GetStatus())
		require.Equal(t, "Internal Server Error", rpc.HTTPError(err).GetExceptionMessage())
	})
}

func TestCallJSON(t *testing.T) {
	const method = orchv1.FlowService_ReadFlows_FullMethodName
	offset := func(n int64) *orchv1.ReadFlowsRequest {
		return &orchv1.ReadFlowsRequest{Query: &orchv1.FlowQuery{Offset: n}}
	}
	both(t, func(t *testing.T, caller rpc.JSONCaller, _ *flows) {
		for range 3 { // A reused buffer must not show bytes of an earlier response.
			body, response, reply, err := caller.CallJSON(t.Context(), method, offset(1000), []byte("before"))
			require.NoError(t, err)
			require.Nil(t, response)
			require.Equal(t, `before[{"name":"json"}]`, strings.TrimSpace(string(body)))
			require.Equal(t, rpc.Reply{Header: map[string]string{"x-made-by": "test"}}, reply)
			body, _, _, err = caller.CallJSON(t.Context(), method, offset(0), nil)
			require.NoError(t, err)
			require.Equal(t, `[{"name":"json"}]`, string(body))
		}

		body, response, _, err := caller.CallJSON(t.Context(), method, offset(-1), []byte("before"))
		require.Equal(t, "Flow not found", rpc.HTTPError(err).GetDetail())
		require.Nil(t, response)
		require.Equal(t, "before", string(body))

		response, _, err = caller.Call(t.Context(), method, offset(0))
		require.NoError(t, err)
		require.Equal(t, "message", response.(*orchv1.FlowList).GetFlows()[0].GetName(), "a caller that asks for a message")

		ctx := request.Outgoing(t.Context(), request.Info{Account: request.DefaultAccount, Workspace: request.DefaultWorkspace})
		body, response, reply, err := caller.CallJSON(ctx, orchv1.FlowService_CreateFlow_FullMethodName,
			&orchv1.CreateFlowRequest{Flow: &orchv1.FlowCreate{Name: "etl"}}, []byte("before"))
		require.NoError(t, err)
		require.Equal(t, "etl", response.(*orchv1.Flow).GetName(), "a method without a JSON handler")
		require.Equal(t, http.StatusCreated, reply.Status)
		require.Equal(t, "before", string(body))

		_, _, _, err = caller.CallJSON(t.Context(), "/orch.v1.FlowService/Nope", offset(0), nil)
		require.Equal(t, codes.Unimplemented, status.Code(err))
	})
}

func TestJSONBeyondTheBoundOfAMessageIsAMessage(t *testing.T) {
	both(t, func(t *testing.T, caller rpc.JSONCaller, _ *flows) {
		if _, local := caller.(*rpc.Local); local {
			t.Skip("calls within a process have no such bound")
		}
		_, response, _, err := caller.CallJSON(t.Context(), orchv1.FlowService_ReadFlows_FullMethodName,
			&orchv1.ReadFlowsRequest{Query: &orchv1.FlowQuery{Offset: 64 << 20}}, nil)
		require.NoError(t, err)
		require.Equal(t, "message", response.(*orchv1.FlowList).GetFlows()[0].GetName())
	})
}

func TestUnknownMethod(t *testing.T) {
	both(t, func(t *testing.T, caller rpc.JSONCaller, _ *flows) {
		for _, method := range []string{"/orch.v1.FlowService/Nope", "/nope.Nope/Nope", "nonsense"} {
			_, _, err := caller.Call(t.Context(), method, &orchv1.ReadFlowRequest{})
			require.Equal(t, codes.Unimplemented, status.Code(err), method)
		}
	})
}

func TestLocalPassesTheMessageItself(t *testing.T) {
	server := &flows{}
	local := rpc.NewLocal()
	orchv1.RegisterFlowServiceServer(local, server)
	sent := &orchv1.CreateFlowRequest{}
	_, _, _ = local.Call(t.Context(), orchv1.FlowService_CreateFlow_FullMethodName, sent)
	require.Same(t, sent, server.seen)
	require.True(t, local.Has(orchv1.FlowService_CreateFlow_FullMethodName))
}

func TestEveryCodeHasAStatus(t *testing.T) {
	for code := codes.OK; code <= codes.Unauthenticated; code++ {
		e := rpc.HTTPError(status.Error(code, "inner words that no client may read"))
		require.NotZero(t, e.GetStatus(), code.String())
		require.NotContains(t, e.GetExceptionMessage(), "inner words", code.String())
	}
}

func TestInterceptorsRunInOrder(t *testing.T) {
	var order []string
	step := func(name string) grpc.UnaryServerInterceptor {
		return func(ctx context.Context, r any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
			order = append(order, name)
			return next(ctx, r)
		}
	}
	local := rpc.NewLocal(step("outer"), step("inner"))
	orchv1.RegisterFlowServiceServer(local, &flows{})
	_, _, _ = local.Call(t.Context(), orchv1.FlowService_ReadFlow_FullMethodName, &orchv1.ReadFlowRequest{})
	require.Equal(t, []string{"outer", "inner"}, order)
}

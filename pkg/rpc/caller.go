package rpc

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"github.com/orch-project/orch/pkg/tracing"
)

// Caller invokes unary methods by name.
type Caller interface {
	// Call invokes method, such as "/orch.v1.FlowService/CreateFlow". The callee may keep the request and the caller
	// owns the response. Errors are gRPC statuses.
	Call(ctx context.Context, method string, request proto.Message) (proto.Message, Reply, error)
}

// Reply is the metadata of a response.
type Reply struct {
	// Status is the HTTP status of the response; 0 means the documented one.
	Status int
	// Header holds HTTP headers of the response.
	Header map[string]string
	// Next is the cursor of the next part, or empty for a complete response. See SetNext.
	Next string
}

// The metadata keys of a reply.
const (
	statusKey    = "orch-http-status"
	nextKey      = "orch-http-next"
	headerPrefix = "orch-http-header-"
)

// SetStatus sets the HTTP status of the response.
func SetStatus(ctx context.Context, code int) error {
	return grpc.SetHeader(ctx, metadata.Pairs(statusKey, strconv.Itoa(code)))
}

// SetHeader sets an HTTP header of the response. A caller within the process gets no header.
func SetHeader(ctx context.Context, name, value string) error {
	if grpc.ServerTransportStreamFromContext(ctx) == nil {
		return nil
	}
	return grpc.SetHeader(ctx, metadata.Pairs(headerPrefix+strings.ToLower(name), value))
}

// SetNext marks the response as partial, for responses that exceed one message. The caller sends the request again with the
// cursor in its field "cursor" until no cursor is set, and sends the parts to the client as one body. Any replica can
// serve any part.
func SetNext(ctx context.Context, cursor string) error {
	return grpc.SetHeader(ctx, metadata.Pairs(nextKey, cursor))
}

func replyOf(md metadata.MD) Reply {
	var reply Reply
	for key, values := range md {
		if len(values) == 0 {
			continue
		}
		switch key {
		case statusKey:
			reply.Status, _ = strconv.Atoi(values[0])
			continue
		case nextKey:
			reply.Next = values[0]
			continue
		}
		if name, found := strings.CutPrefix(key, headerPrefix); found {
			if reply.Header == nil {
				reply.Header = map[string]string{}
			}
			reply.Header[name] = values[0]
		}
	}
	return reply
}

// Remote calls a service in another process.
type Remote struct {
	conn  grpc.ClientConnInterface
	types sync.Map // method → protoreflect.MessageType
}

// NewRemote returns a caller over a connection, which the caller of NewRemote closes.
func NewRemote(conn grpc.ClientConnInterface) *Remote {
	return &Remote{conn: conn}
}

// Call implements Caller.
func (r *Remote) Call(ctx context.Context, method string, request proto.Message) (proto.Message, Reply, error) {
	mt, err := r.response(method)
	if err != nil {
		return nil, Reply{}, status.Error(codes.Unimplemented, err.Error())
	}
	response := mt.New().Interface()
	header, err := r.invoke(ctx, method, request, response)
	if err != nil {
		return nil, replyOf(header), err
	}
	return response, replyOf(header), nil
}

func (r *Remote) invoke(ctx context.Context, method string, request proto.Message, response any, options ...grpc.CallOption) (metadata.MD, error) {
	var header metadata.MD
	ctx, span := tracing.StartClient(ctx, tracing.MethodName(method))
	err := r.conn.Invoke(tracing.Outgoing(ctx), method, request, response, append(options, grpc.Header(&header))...)
	tracing.End(span, err)
	return header, err
}

func (r *Remote) response(method string) (protoreflect.MessageType, error) {
	if mt, ok := r.types.Load(method); ok {
		return mt.(protoreflect.MessageType), nil
	}
	service, name, found := strings.Cut(strings.TrimPrefix(method, "/"), "/")
	if !found {
		return nil, fmt.Errorf("call %q: not a full method name", method)
	}
	d, err := protoregistry.GlobalFiles.FindDescriptorByName(protoreflect.FullName(service))
	if err != nil {
		return nil, fmt.Errorf("call %s: %w", method, err)
	}
	sd, ok := d.(protoreflect.ServiceDescriptor)
	if !ok {
		return nil, fmt.Errorf("call %s: %s is not a service", method, service)
	}
	md := sd.Methods().ByName(protoreflect.Name(name))
	if md == nil {
		return nil, fmt.Errorf("call %s: %s has no method %s", method, service, name)
	}
	mt, err := protoregistry.GlobalTypes.FindMessageByName(md.Output().FullName())
	if err != nil {
		return nil, fmt.Errorf("call %s: %w", method, err)
	}
	r.types.Store(method, mt)
	return mt, nil
}

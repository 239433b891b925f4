package rpc

import (
	"context"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/encoding"
	grpcproto "google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// JSONCaller is a Caller whose callee may encode the JSON of a response from stored documents, without its message.
type JSONCaller interface {
	Caller
	// CallJSON invokes method like Call. If the method has a JSON handler, response is nil, and body is dst with the JSON of the whole
	// response appended. Otherwise body is dst.
	CallJSON(ctx context.Context, method string, request proto.Message, dst []byte) (body []byte, response proto.Message, reply Reply, err error)
}

// Registrar is a Local or a Server: it takes the services of a process.
type Registrar interface {
	grpc.ServiceRegistrar
	JSONRegistrar
}

// JSONRegistrar takes JSON handlers, by HandleJSON.
type JSONRegistrar interface {
	handleJSON(method string, handle jsonHandler)
}

// jsonHandler appends the JSON of a response to dst.
type jsonHandler func(ctx context.Context, request any, dst []byte) ([]byte, error)

type jsonHandlers map[string]jsonHandler

func (h jsonHandlers) handleJSON(method string, handle jsonHandler) { h[method] = handle }

// HandleJSON registers a handler that appends the JSON of the responses of a method. The method has a handler of messages too, for
// callers that need one; both have the same response. Register before the first call.
func HandleJSON[R proto.Message](r JSONRegistrar, method string, handle func(ctx context.Context, request R, dst []byte) ([]byte, error)) {
	r.handleJSON(method, func(ctx context.Context, request any, dst []byte) ([]byte, error) {
		r, ok := request.(R)
		if !ok {
			return nil, status.Errorf(codes.Internal, "call %s: the request is a %T", method, request)
		}
		return handle(ctx, r, dst)
	})
}

// The metadata of calls between processes whose response may be JSON. A callee that does not know them responds with the message, so
// replicas of two versions understand each other.
const (
	acceptKey   = "orch-accept"
	contentKey  = "orch-content"
	contentJSON = "json"
)

// intercept responds with JSON to callers that accept it. A body beyond the bound of a message leaves as the message.
func (h jsonHandlers) intercept(ctx context.Context, request any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
	handle, ok := h[info.FullMethod]
	if !ok || !acceptsJSON(ctx) {
		return next(ctx, request)
	}
	dst := bodies.Get(0)
	body, err := handle(ctx, request, (*dst)[:0])
	if err != nil {
		bodies.Put(dst)
		return nil, err
	}
	if *dst = body; len(body) > maxMessage {
		bodies.Put(dst)
		return next(ctx, request)
	}
	return encodedJSON{dst}, grpc.SetHeader(ctx, metadata.Pairs(contentKey, contentJSON))
}

func acceptsJSON(ctx context.Context) bool {
	values := metadata.ValueFromIncomingContext(ctx, acceptKey)
	return len(values) > 0 && values[0] == contentJSON
}

// CallJSON implements JSONCaller.
func (r *Remote) CallJSON(ctx context.Context, method string, request proto.Message, dst []byte) ([]byte, proto.Message, Reply, error) {
	mt, err := r.response(method)
	if err != nil {
		return dst, nil, Reply{}, status.Error(codes.Unimplemented, err.Error())
	}
	received := frame{data: dst}
	ctx = metadata.AppendToOutgoingContext(ctx, acceptKey, contentJSON)
	header, err := r.invoke(ctx, method, request, &received, grpc.ForceCodecV2(messages))
	if err != nil {
		return dst, nil, replyOf(header), err
	}
	if values := header.Get(contentKey); len(values) > 0 && values[0] == contentJSON {
		return received.data, nil, replyOf(header), nil
	}
	response := mt.New().Interface()
	if err := proto.Unmarshal(received.data[len(dst):], response); err != nil {
		return dst, nil, replyOf(header), status.Errorf(codes.Internal, "call %s: decode the response: %v", method, err)
	}
	return dst, response, replyOf(header), nil
}

// encodedJSON is a response that a JSON handler has encoded.
type encodedJSON struct{ body *[]byte }

// frame receives a response as it was sent.
type frame struct{ data []byte }

// messages is the codec of messages that passes on encoded responses, and received frames.
var messages = codec{encoding.GetCodecV2(grpcproto.Name)}

type codec struct{ encoding.CodecV2 }

func (c codec) Marshal(v any) (mem.BufferSlice, error) {
	if response, ok := v.(encodedJSON); ok {
		return mem.BufferSlice{mem.NewBuffer(response.body, bodies)}, nil
	}
	return c.CodecV2.Marshal(v)
}

func (c codec) Unmarshal(data mem.BufferSlice, v any) error {
	received, ok := v.(*frame)
	if !ok {
		return c.CodecV2.Unmarshal(data, v)
	}
	for _, b := range data {
		received.data = append(received.data, b.ReadOnlyData()...)
	}
	return nil
}

// bodies reuses the memory of encoded responses once gRPC has sent them.
var bodies mem.BufferPool = &bodyPool{sync.Pool{New: func() any { return new([]byte) }}}

// maxPooled bounds the bytes of a reused body, so one large response does not keep its memory.
const maxPooled = 1 << 20

type bodyPool struct{ pool sync.Pool }

// Get implements mem.BufferPool. Bodies grow as they are written, so the length is 0.
func (p *bodyPool) Get(int) *[]byte { return p.pool.Get().(*[]byte) }

// Put implements mem.BufferPool.
func (p *bodyPool) Put(body *[]byte) {
	if cap(*body) <= maxPooled {
		p.pool.Put(body)
	}
}

var (
	_ JSONCaller = (*Local)(nil)
	_ JSONCaller = (*Remote)(nil)
	_ Registrar  = (*Local)(nil)
	_ Registrar  = (*Server)(nil)
)

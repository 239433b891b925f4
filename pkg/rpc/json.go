package rpc

import (
	"context"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// JSONCaller is a Caller that may have a response as JSON without its message: a service of the same process encodes stored
// documents, which need not be decoded first.
type JSONCaller interface {
	Caller
	// AppendJSON invokes method like Call, and appends the JSON of its response to dst. The JSON is that of the contract for the
	// whole response body. False means that the method has no JSON handler: nothing was called.
	AppendJSON(ctx context.Context, method string, request proto.Message, dst []byte) (body []byte, reply Reply, ok bool, err error)
}

// jsonHandler appends the JSON of a response to dst.
type jsonHandler func(ctx context.Context, request any, dst []byte) ([]byte, error)

// HandleJSON registers a handler that appends the JSON of the responses of a method. The method has a handler of messages too, for
// callers of other processes; both have the same response. Register before the first call.
func HandleJSON[R proto.Message](l *Local, method string, handle func(ctx context.Context, request R, dst []byte) ([]byte, error)) {
	l.json[method] = func(ctx context.Context, request any, dst []byte) ([]byte, error) {
		r, ok := request.(R)
		if !ok {
			return nil, status.Errorf(codes.Internal, "call %s: the request is a %T", method, request)
		}
		return handle(ctx, r, dst)
	}
}

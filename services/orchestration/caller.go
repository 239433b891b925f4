package orchestration

import (
	"context"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"github.com/orch-project/orch/pkg/access"
	"github.com/orch-project/orch/pkg/request"
)

// requireCaller refuses calls without an authenticated caller, on a server with API keys. Without it a gateway that forgets the
// caller, or runs without keys, would act as an owner. Operations that are public need no caller.
func requireCaller(ctx context.Context, in any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
	if public(info.FullMethod) {
		return handler(ctx, in)
	}
	from, err := request.Incoming(ctx)
	switch {
	case err == nil && from.Caller.Known():
		return handler(ctx, in)
	case from.Caller.Unauthenticated:
		return nil, status.Error(codes.Unauthenticated, "the gateway runs without API keys, this service with them: set ORCH_AUTH alike")
	}
	return nil, status.Error(codes.Unauthenticated, "the call names no caller")
}

// public reports whether a method needs no caller: a public operation, or one that is no operation, such as gRPC's own health.
func public(method string) bool {
	service, name, _ := strings.Cut(strings.TrimPrefix(method, "/"), "/")
	if !strings.HasPrefix(service, "orch.") {
		return true
	}
	found, err := protoregistry.GlobalFiles.FindDescriptorByName(protoreflect.FullName(service + "." + name))
	if err != nil {
		return false
	}
	md, ok := found.(protoreflect.MethodDescriptor)
	return ok && access.Option(md).GetPublic()
}

package eventtypes

import (
	"context"
	"errors"
	"net/http"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"
	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/orch-project/orch/pkg/rpc"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/crud"
	"github.com/orch-project/orch/services/orchestration/internal/eventtypes/conformance"
	"github.com/orch-project/orch/services/orchestration/internal/parameters"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// PinEventType pins the schema of the request, or the inferred one. Every replica checks events after freshFor at the latest.
func (s *Service) PinEventType(ctx context.Context, r *orchv1.PinEventTypeRequest) (*orchv1.EventType, error) {
	return crud.ByID(ctx, notFound, r.GetId(), func(ctx context.Context, ws, id uuid.UUID) (*orchv1.EventType, error) {
		own := r.GetPin().GetSchema()
		used, err := s.pinnedBytes(ctx, ws, id)
		if err != nil {
			return nil, err
		}
		pinned, err := s.types.Mutate(ctx, ws, id, store.Edit(func(next *orchv1.EventType) error {
			schema := own
			if len(schema) == 0 {
				schema = next.GetSchema()
			}
			if len(schema) == 0 {
				return rpc.Detail(http.StatusConflict, "No payload of these events was sampled yet. Send a schema.")
			}
			compiled, err := conformance.Compile(schema)
			if err != nil {
				return refused(err)
			}
			size := int64(compiled.Size())
			if used+size > maxPinned {
				return rpc.Detail(http.StatusConflict, "The pinned schemas of a workspace take at most 4 MiB of memory.")
			}
			next.PinnedSchema, next.PinnedBytes, next.Pinned, next.Expires = schema, &size, timestamppb.New(s.Store.Now()), nil
			return nil
		}, nil))
		if err != nil {
			return nil, err
		}
		s.register.invalidate(ws, pinned.GetName(), s.Store.Now())
		return pinned, s.present(ctx, ws, pinned)
	})
}

// UnpinEventType ends the check of events.
func (s *Service) UnpinEventType(ctx context.Context, r *orchv1.UnpinEventTypeRequest) (*emptypb.Empty, error) {
	return crud.ByID(ctx, notFound, r.GetId(), func(ctx context.Context, ws, id uuid.UUID) (*emptypb.Empty, error) {
		unpinned, err := s.types.Mutate(ctx, ws, id, store.Edit(func(next *orchv1.EventType) error {
			if next.Pinned != nil {
				next.PinnedSchema, next.PinnedBytes, next.Pinned, next.Expires = nil, nil, nil, expiry(s.Store.Now())
			}
			return nil
		}, nil))
		if err != nil {
			return nil, err
		}
		s.register.invalidate(ws, unpinned.GetName(), s.Store.Now())
		return &emptypb.Empty{}, nil
	})
}

// refused is the response to a schema that cannot be pinned.
func refused(err error) error {
	if e, ok := errors.AsType[*parameters.SchemaError](err); ok {
		return rpc.Detail(http.StatusUnprocessableEntity, "Invalid schema: "+e.Reason)
	}
	return err
}

// pinnedBytes returns the memory of the pinned schemas of a workspace, one event type excepted.
func (s *Service) pinnedBytes(ctx context.Context, ws, without uuid.UUID) (size int64, err error) {
	err = store.EachRaw(ctx, s.types, ws, store.Query{Fields: []string{"_id", "pinned_bytes"}}, func(raw bson.Raw) bool {
		if id, err := store.UUID(raw.Lookup("_id")); err == nil && id != without {
			bytes, _ := raw.Lookup("pinned_bytes").AsInt64OK()
			size += bytes
		}
		return true
	})
	return size, err
}

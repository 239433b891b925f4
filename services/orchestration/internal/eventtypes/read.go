package eventtypes

import (
	"context"

	"github.com/google/uuid"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/orch-project/orch/pkg/request"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/crud"
)

const notFound crud.NotFound = "Event type not found"

// ReadEventType returns an event type.
func (s *Service) ReadEventType(ctx context.Context, r *orchv1.ReadEventTypeRequest) (*orchv1.EventType, error) {
	info, err := request.Incoming(ctx)
	if err != nil {
		return nil, err
	}
	t, err := crud.ByID(ctx, notFound, r.GetId(), s.types.Get)
	if err != nil {
		return nil, err
	}
	return t, s.present(ctx, info.Workspace, t)
}

// ReadEventTypes returns the event types that match.
func (s *Service) ReadEventTypes(ctx context.Context, r *orchv1.ReadEventTypesRequest) (*orchv1.EventTypeList, error) {
	info, err := request.Incoming(ctx)
	if err != nil {
		return nil, err
	}
	q := r.GetQuery()
	found, err := s.source.List(ctx, q, q.GetSort(), q)
	if err != nil {
		return nil, err
	}
	for _, t := range found {
		if err := s.present(ctx, info.Workspace, t); err != nil {
			return nil, err
		}
	}
	return &orchv1.EventTypeList{EventTypes: found}, nil
}

// CountEventTypes counts the event types that match.
func (s *Service) CountEventTypes(ctx context.Context, r *orchv1.CountEventTypesRequest) (*orchv1.CountResponse, error) {
	return s.source.Count(ctx, r.GetQuery())
}

// present sets what stored events say of an event type: the time of the last one, which is written once an hour, and the violations.
func (s *Service) present(ctx context.Context, ws uuid.UUID, t *orchv1.EventType) error {
	last, err := s.LastOccurred(ctx, ws, t.GetName())
	if err != nil {
		return err
	}
	if last.After(t.GetLastSeen().AsTime()) {
		t.LastSeen = timestamppb.New(last)
	}
	t.Violations, err = s.CountWith(ctx, ws, s.resourceID(t.GetId()), maxViolations)
	return err
}

// resourceID is the resource id of an event type.
func (s *Service) resourceID(id string) string { return s.Vocabulary.Name("event-type", id) }

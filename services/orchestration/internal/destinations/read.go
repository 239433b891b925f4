package destinations

import (
	"context"

	"github.com/google/uuid"

	"github.com/orch-project/orch/pkg/request"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/crud"
	"github.com/orch-project/orch/services/orchestration/internal/egress"
	"github.com/orch-project/orch/services/orchestration/internal/query"
)

// ReadDestination returns a destination.
func (s *Service) ReadDestination(ctx context.Context, r *orchv1.ReadDestinationRequest) (*orchv1.Destination, error) {
	info, err := request.Incoming(ctx)
	if err != nil {
		return nil, err
	}
	d, err := crud.ByID(ctx, notFound, r.GetId(), s.destinations.Get)
	if err != nil {
		return nil, err
	}
	return s.present(ctx, info, d)
}

// ReadDestinations returns the destinations that match.
func (s *Service) ReadDestinations(ctx context.Context, r *orchv1.ReadDestinationsRequest) (*orchv1.DestinationList, error) {
	info, err := request.Incoming(ctx)
	if err != nil {
		return nil, err
	}
	q := r.GetQuery()
	found, err := s.source.List(ctx, q, q.GetSort(), q)
	if err != nil {
		return nil, err
	}
	for _, d := range found {
		if _, err := s.present(ctx, info, d); err != nil {
			return nil, err
		}
	}
	return &orchv1.DestinationList{Destinations: found}, nil
}

// CountDestinations counts the destinations that match.
func (s *Service) CountDestinations(ctx context.Context, r *orchv1.CountDestinationsRequest) (*orchv1.CountResponse, error) {
	return s.source.Count(ctx, r.GetQuery())
}

// maskedPath replaces the path of an address.
const maskedPath = "/***"

// present sets the computed fields of a destination, and masks its address for callers who may not read it.
func (s *Service) present(ctx context.Context, info request.Info, d *orchv1.Destination) (*orchv1.Destination, error) {
	scopes, err := s.Tenancy.WorkspaceScopes(ctx, info, info.Workspace)
	if err != nil {
		return nil, err
	}
	if !scopes.Has("read_webhook_addresses") || d.BlockDocumentId != nil {
		d.Url = egress.Origin(d.GetUrl()) + maskedPath
	}
	d.Signed, d.Health = d.SealedSecret != nil, healthOf(d.GetCircuit())
	return d, nil
}

// flush publishes the change of a destination, so that the Matcher sees it before events that are published after the response.
func (s *Service) flush(ctx context.Context, ws, id uuid.UUID) {
	s.Flush.Flush(ctx, query.Destination, ws, id)
}

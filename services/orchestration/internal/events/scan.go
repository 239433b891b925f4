package events

import (
	"context"

	"google.golang.org/protobuf/proto"

	"github.com/orch-project/orch/pkg/request"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// ScanEvents returns the next matching events, oldest first: none at the end. Without a total and a token its cost depends only on its
// result, so a subscriber can read a long history.
func (s *Service) ScanEvents(ctx context.Context, r *orchv1.ScanEventsRequest) (*orchv1.ReceivedEventList, error) {
	info, err := request.Incoming(ctx)
	if err != nil {
		return nil, err
	}
	ctx, end, err := s.begin(ctx, info.Workspace)
	if err != nil {
		return nil, err
	}
	defer end()
	filter := s.complete(r.GetFilter())
	filter.Order = orchv1.EventOrder_EVENT_ORDER_ASC
	if filter.GetResource().GetDistinct() {
		filter.Resource = proto.CloneOf(filter.Resource)
		filter.Resource.Distinct = false
	}
	compiled, err := s.compile(info.Workspace, filter)
	if err != nil {
		return nil, err
	}
	if err := s.searchable(ctx, info.Workspace, filter); err != nil {
		return nil, err
	}
	p := position{filter: filter, limit: r.GetLimit()}
	if after := r.GetAfter(); after != nil {
		if err := p.goOnAfter(after); err != nil {
			return nil, err
		}
	}
	found, err := s.read(ctx, info.Workspace, p, compiled, nil)
	if err != nil {
		return nil, err
	}
	return &orchv1.ReceivedEventList{Events: found.events}, nil
}

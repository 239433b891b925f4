package events

import (
	"context"

	"github.com/orch-project/orch/pkg/request"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// ReadAccountEvents returns the first page of an account's own matching events.
func (s *Service) ReadAccountEvents(ctx context.Context, r *orchv1.ReadAccountEventsRequest) (*orchv1.EventPage, error) {
	info, err := request.Incoming(ctx)
	if err != nil {
		return nil, err
	}
	return s.firstPage(ctx, ofAccount(info), r.GetQuery())
}

// ReadAccountEventsPage returns the page of a token.
func (s *Service) ReadAccountEventsPage(ctx context.Context, r *orchv1.ReadAccountEventsPageRequest) (*orchv1.EventPage, error) {
	info, err := request.Incoming(ctx)
	if err != nil {
		return nil, err
	}
	return s.nextPage(ctx, ofAccount(info), r.GetPageToken())
}

// ofAccount is the place of an account's own events: they are stored under its id, so no workspace reads them.
func ofAccount(info request.Info) owner {
	return owner{info.Account, info.PublicURL + "/accounts/" + info.Account.String() + "/events/filter/next?page-token="}
}

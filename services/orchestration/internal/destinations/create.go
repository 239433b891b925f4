package destinations

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/orch-project/orch/pkg/request"
	"github.com/orch-project/orch/pkg/rpc"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// maxDestinations bounds the destinations of a workspace: the Matcher keeps their subscriptions in memory.
const maxDestinations = 100

// CreateDestination stores a destination. It refuses a duplicate name.
func (s *Service) CreateDestination(ctx context.Context, r *orchv1.CreateDestinationRequest) (*orchv1.Destination, error) {
	info, err := request.Incoming(ctx)
	if err != nil {
		return nil, err
	}
	id := s.Store.NewID()
	d := &orchv1.Destination{Id: id.String()}
	if err := s.apply(info.Workspace, d, r.GetDestination(), optionals{r.GetDestination().RateLimit, r.GetDestination().Proxy}, allSettings); err != nil {
		return nil, err
	}
	n, err := s.destinations.Count(ctx, info.Workspace, store.Query{Filter: bson.D{withSubscriptions}, Limit: maxDestinations})
	if err != nil {
		return nil, err
	}
	if n >= maxDestinations {
		return nil, rpc.Detail(http.StatusConflict, fmt.Sprintf("A workspace has at most %d destinations.", maxDestinations))
	}
	created, err := s.lifecycle.Created(ctx, info.Workspace, d)
	if err != nil {
		return nil, err
	}
	if created, err = s.audited(ctx, info.Workspace, d, "created", created); err != nil {
		return nil, err
	}
	err = s.destinations.Insert(ctx, info.Workspace, d, created...)
	if errors.Is(err, store.ErrDuplicate) {
		return nil, conflict(d)
	}
	if err != nil {
		return nil, err
	}
	s.flush(ctx, info.Workspace, id)
	return s.present(ctx, info, d)
}

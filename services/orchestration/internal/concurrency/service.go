package concurrency

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"
	"google.golang.org/protobuf/proto"

	"github.com/orch-project/orch/pkg/request"
	"github.com/orch-project/orch/pkg/rpc"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/events"
	"github.com/orch-project/orch/services/orchestration/internal/outbox"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// Service serves limits and their slots, by the current API and by the older API of tags.
type Service struct {
	orchv1.UnimplementedConcurrencyLimitV2ServiceServer
	orchv1.UnimplementedConcurrencyLimitServiceServer
	*Limits
}

// New returns the service of limits.
func New(limits *Limits) *Service { return &Service{Limits: limits} }

// translate maps errors of slots to responses of the API.
func translate(err error) error {
	var full *FullError
	var steady *NoDecayError
	switch {
	case errors.Is(err, store.ErrNotFound):
		return rpc.Detail(http.StatusNotFound, "Concurrency Limit not found")
	case errors.As(err, &full):
		return locked(full, "Locked")
	case errors.Is(err, ErrTooMany):
		return rpc.Detail(http.StatusUnprocessableEntity, "Slots requested is greater than the limit")
	case errors.As(err, &steady):
		return rpc.Detail(http.StatusUnprocessableEntity, fmt.Sprintf("Only concurrency limits with slot decay can be used for rate limiting. "+
			"The following limits do not have a decay configured: '%s'", strings.Join(steady.Names, ",")))
	case errors.Is(err, ErrLeaseGone):
		return rpc.Detail(http.StatusGone, "Lease not found - it may have expired or been revoked")
	}
	return err
}

// locked is the response when no slots are free. Retry-After has the exact wait, with fractions of a second.
func locked(full *FullError, text string) error {
	if full.Holders {
		text = fmt.Sprintf("The concurrency limit '%s' has %d holders, which is the maximum", full.Name, MaxHolders)
	}
	return rpc.Error(&orchv1.HttpError{
		Status:  http.StatusLocked,
		Form:    &orchv1.HttpError_Detail{Detail: text},
		Headers: map[string]string{"Retry-After": strconv.FormatFloat(full.Wait.Seconds(), 'f', -1, 64)},
	})
}

// locate finds a limit by the id or name in a path. It treats every valid UUID as an id.
func (s *Service) locate(ctx context.Context, idOrName string) (uuid.UUID, *orchv1.ConcurrencyLimitV2, error) {
	info, err := request.Incoming(ctx)
	if err != nil {
		return uuid.Nil, nil, err
	}
	filter := bson.D{{Key: "name", Value: idOrName}}
	if id, err := uuid.Parse(idOrName); err == nil {
		filter = bson.D{{Key: "_id", Value: store.Binary(id)}}
	}
	limit, err := s.limits.First(ctx, info.Workspace, filter)
	return info.Workspace, limit, err
}

// ReadConcurrencyLimitV2 returns a limit by its id or its name.
func (s *Service) ReadConcurrencyLimitV2(ctx context.Context, r *orchv1.ReadConcurrencyLimitV2Request) (*orchv1.DeploymentConcurrencyLimit, error) {
	_, limit, err := s.locate(ctx, r.GetIdOrName())
	if err != nil {
		return nil, translate(err)
	}
	return s.present(limit), nil
}

// present computes a limit as readers see it: with the slots that are taken now.
func (l *Limits) present(limit *orchv1.ConcurrencyLimitV2) *orchv1.DeploymentConcurrencyLimit {
	return &orchv1.DeploymentConcurrencyLimit{
		Id:                 limit.GetId(),
		Created:            limit.GetCreated(),
		Updated:            limit.GetUpdated(),
		Active:             limit.GetActive(),
		Name:               limit.GetName(),
		Limit:              limit.GetLimit(),
		ActiveSlots:        active(limit, l.limits.Store().Now()),
		SlotDecayPerSecond: limit.GetSlotDecayPerSecond(),
	}
}

// minimal returns limits as clients that take slots see them, with names without prefix.
func minimal(limits []*orchv1.ConcurrencyLimitV2, prefix string) []*orchv1.MinimalConcurrencyLimit {
	list := make([]*orchv1.MinimalConcurrencyLimit, 0, len(limits))
	for _, limit := range limits {
		list = append(list, &orchv1.MinimalConcurrencyLimit{Id: limit.GetId(), Name: strings.TrimPrefix(limit.GetName(), prefix), Limit: limit.GetLimit()})
	}
	return list
}

// lifecycle returns the effect that publishes a change of a limit; before is nil for a new or an unchanged limit.
func (l *Limits) lifecycle(ws uuid.UUID, limit *orchv1.ConcurrencyLimitV2, before proto.Message, verb string) (store.Effect, error) {
	id, err := uuid.Parse(limit.GetId())
	if err != nil {
		return store.Effect{}, err
	}
	payload, err := events.Payload(limit, before, "name", "limit", "active", "slot_decay_per_second")
	if err != nil {
		return store.Effect{}, err
	}
	s := l.limits.Store()
	return events.Publish(ws, events.Lifecycle{
		ID: s.NewID(), Kind: "concurrency-limit", Verb: verb, Of: id, Name: limit.GetName(), At: s.Now(), Payload: payload,
	}.Event(l.vocab))
}

// Handlers returns the effect handlers of this package.
func (s *Service) Handlers() []outbox.Handler {
	return []outbox.Handler{
		{Kind: KindOrphans, Run: s.KeepOrphans},
		{Kind: kindRelease, Run: s.releaseLeases},
		{Kind: kindKeep, Run: s.keepSlots},
		{Kind: kindDeployment, Run: s.followDeployments},
	}
}

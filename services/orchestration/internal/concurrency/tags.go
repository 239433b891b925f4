package concurrency

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/orch-project/orch/pkg/request"
	"github.com/orch-project/orch/pkg/rpc"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// tagPrefix starts the names of the limits of tags.
const tagPrefix = "tag:"

// ofTags matches the limits of all tags; ";" follows ":".
var ofTags = bson.E{Key: "name", Value: bson.D{{Key: "$gte", Value: tagPrefix}, {Key: "$lt", Value: "tag;"}}}

const taskRun = orchv1.ConcurrencyHolderType_CONCURRENCY_HOLDER_TYPE_TASK_RUN

// tagLimit returns a limit in the form of the older API.
func tagLimit(l *orchv1.ConcurrencyLimitV2) *orchv1.ConcurrencyLimit {
	limit := &orchv1.ConcurrencyLimit{
		Id:               l.GetId(),
		Created:          l.GetCreated(),
		Updated:          l.GetUpdated(),
		Tag:              strings.TrimPrefix(l.GetName(), tagPrefix),
		ConcurrencyLimit: l.GetLimit(),
	}
	for _, h := range l.GetHolders() {
		if h.GetHolder() != nil {
			limit.ActiveSlots = append(limit.ActiveSlots, h.GetHolder().GetId())
		}
	}
	return limit
}

// unknownTag is the 404 of the older API, which differs from the current one in one letter.
func unknownTag(err error) error {
	if errors.Is(err, store.ErrNotFound) {
		return rpc.Detail(http.StatusNotFound, "Concurrency limit not found")
	}
	return err
}

func (s *Service) ofTag(ctx context.Context, filter bson.D) (uuid.UUID, *orchv1.ConcurrencyLimitV2, error) {
	info, err := request.Incoming(ctx)
	if err != nil {
		return uuid.Nil, nil, err
	}
	limit, err := s.limits.First(ctx, info.Workspace, filter)
	return info.Workspace, limit, unknownTag(err)
}

func (s *Service) byTag(ctx context.Context, tag string) (uuid.UUID, *orchv1.ConcurrencyLimitV2, error) {
	return s.ofTag(ctx, bson.D{{Key: "name", Value: tagPrefix + tag}})
}

func (s *Service) byTagID(ctx context.Context, id string) (uuid.UUID, *orchv1.ConcurrencyLimitV2, error) {
	parsed, err := uuid.Parse(id)
	if err != nil {
		return uuid.Nil, nil, fmt.Errorf("read the id of a concurrency limit: %w", err)
	}
	return s.ofTag(ctx, bson.D{{Key: "_id", Value: store.Binary(parsed)}, ofTags})
}

// CreateConcurrencyLimit stores the limit of a tag, or changes it: 201 or 200.
func (s *Service) CreateConcurrencyLimit(ctx context.Context, r *orchv1.CreateConcurrencyLimitRequest) (*orchv1.ConcurrencyLimit, error) {
	info, err := request.Incoming(ctx)
	if err != nil {
		return nil, err
	}
	create := r.GetConcurrencyLimit()
	limit, created, err := s.upsert(ctx, info.Workspace, tagPrefix+create.GetTag(), max(0, create.GetConcurrencyLimit()))
	if err != nil {
		return nil, err
	}
	if created {
		err = rpc.SetStatus(ctx, http.StatusCreated)
	}
	return tagLimit(limit), err
}

// upsert creates the limit of a name, or changes its slots. It reports whether it created one.
func (l *Limits) upsert(ctx context.Context, ws uuid.UUID, name string, slots int64) (*orchv1.ConcurrencyLimitV2, bool, error) {
	// The existing limit may be deleted between the insert and the change.
	for range 3 {
		limit, err := l.insert(ctx, ws, &orchv1.ConcurrencyLimitV2{Id: l.limits.Store().NewID().String(), Active: true, Name: name, Limit: slots})
		if err == nil {
			return limit, true, nil
		}
		if !errors.Is(err, store.ErrDuplicate) {
			return nil, false, err
		}
		limit, err = l.limits.First(ctx, ws, bson.D{{Key: "name", Value: name}})
		if err == nil {
			limit, err = l.mutate(ctx, ws, limit.GetId(), func(next *orchv1.ConcurrencyLimitV2) (bool, error) {
				changed := next.GetLimit() != slots || !next.GetActive()
				next.Limit, next.Active = slots, true
				return changed, nil
			})
		}
		if !errors.Is(err, store.ErrNotFound) {
			return limit, false, err
		}
	}
	return nil, false, fmt.Errorf("store a concurrency limit: %w", store.ErrContention)
}

// ReadConcurrencyLimit returns the limit of a tag by its id.
func (s *Service) ReadConcurrencyLimit(ctx context.Context, r *orchv1.ReadConcurrencyLimitRequest) (*orchv1.ConcurrencyLimit, error) {
	_, limit, err := s.byTagID(ctx, r.GetId())
	if err != nil {
		return nil, err
	}
	return tagLimit(limit), nil
}

// ReadConcurrencyLimitByTag returns the limit of a tag.
func (s *Service) ReadConcurrencyLimitByTag(ctx context.Context, r *orchv1.ReadConcurrencyLimitByTagRequest) (*orchv1.ConcurrencyLimit, error) {
	_, limit, err := s.byTag(ctx, r.GetTag())
	if err != nil {
		return nil, err
	}
	return tagLimit(limit), nil
}

// ReadConcurrencyLimits returns the limits of all tags, by tag.
func (s *Service) ReadConcurrencyLimits(ctx context.Context, r *orchv1.ReadConcurrencyLimitsRequest) (*orchv1.ConcurrencyLimitList, error) {
	limits, err := s.page(ctx, bson.D{ofTags}, r.GetQuery())
	if err != nil {
		return nil, err
	}
	list := &orchv1.ConcurrencyLimitList{}
	for _, limit := range limits {
		list.Limits = append(list.Limits, tagLimit(limit))
	}
	return list, nil
}

// DeleteConcurrencyLimit deletes the limit of a tag by its id.
func (s *Service) DeleteConcurrencyLimit(ctx context.Context, r *orchv1.DeleteConcurrencyLimitRequest) (*emptypb.Empty, error) {
	ws, limit, err := s.byTagID(ctx, r.GetId())
	if err != nil {
		return nil, err
	}
	return &emptypb.Empty{}, unknownTag(s.delete(ctx, ws, limit.GetId(), always))
}

// DeleteConcurrencyLimitByTag deletes the limit of a tag.
func (s *Service) DeleteConcurrencyLimitByTag(ctx context.Context, r *orchv1.DeleteConcurrencyLimitByTagRequest) (*emptypb.Empty, error) {
	ws, limit, err := s.byTag(ctx, r.GetTag())
	if err != nil {
		return nil, err
	}
	return &emptypb.Empty{}, unknownTag(s.delete(ctx, ws, limit.GetId(), always))
}

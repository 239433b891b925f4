package assets

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/events"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// ownedKey is the key of an asset of a workspace.
type ownedKey struct {
	workspace uuid.UUID
	key       string
}

// Records reports whether Record handles events with a name.
func (s *Service) Records(event string) bool {
	return strings.HasPrefix(event, s.vocab.Name("asset")+".")
}

// Record records the assets of stored events. The resource of such an event is the asset; its name begins with "asset.", as
// in orch.asset.materialization.succeeded. Recording a batch again changes nothing.
func (s *Service) Record(ctx context.Context, batch []events.Received) error {
	latest := map[ownedKey]time.Time{}
	for _, e := range batch {
		if !s.Records(e.Event.GetEvent()) {
			continue
		}
		k := ownedKey{e.Workspace, e.Event.GetResource().GetLabels()[s.vocab.ResourceID()]}
		if at := e.Event.GetOccurred().AsTime(); k.key != "" && at.After(latest[k]) {
			latest[k] = at
		}
	}
	for k, at := range latest {
		if err := s.see(ctx, k, at); err != nil {
			return fmt.Errorf("record asset: %w", err)
		}
	}
	return nil
}

// see stores that an asset had an event at a time.
func (s *Service) see(ctx context.Context, k ownedKey, at time.Time) error {
	id := idOf(k.workspace, k.key)
	for range 3 { // A client may delete the asset, and another replica may insert it.
		_, err := s.assets.Mutate(ctx, k.workspace, id, func(current *orchv1.Asset, _ int64) (*store.Change[*orchv1.Asset], error) {
			if !at.After(current.GetLastSeen().AsTime()) {
				return nil, nil
			}
			next := proto.CloneOf(current)
			next.LastSeen = timestamppb.New(at)
			return &store.Change[*orchv1.Asset]{Message: next}, nil
		})
		if errors.Is(err, store.ErrNotFound) {
			err = s.assets.Insert(ctx, k.workspace, &orchv1.Asset{Id: id.String(), Key: k.key, LastSeen: timestamppb.New(at)})
		}
		if !errors.Is(err, store.ErrDuplicate) {
			return err
		}
	}
	return store.ErrContention
}

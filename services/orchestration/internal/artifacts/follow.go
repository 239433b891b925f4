package artifacts

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"
	"google.golang.org/protobuf/proto"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/resourceid"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// KindFollow is the effect that updates a key's document to the newest artifact of the key.
const KindFollow = "artifact_latest"

// followed builds the effect for one key.
func (s *Service) followed(ws uuid.UUID, key string) store.Effect {
	db := s.artifacts.Store()
	return store.Effect{ID: db.NewID(), At: db.Now(), Kind: KindFollow, Body: append(ws[:], key...)}
}

// Follow executes effects of KindFollow.
func (s *Service) Follow(ctx context.Context, effects []store.Effect) error {
	for _, e := range effects {
		if len(e.Body) < len(uuid.UUID{}) {
			return store.Permanent(fmt.Errorf("decode effect: %d bytes name no key", len(e.Body)))
		}
		if err := s.follow(ctx, uuid.UUID(e.Body[:16]), string(e.Body[16:])); err != nil {
			return err
		}
	}
	return nil
}

var (
	// errMoved reports a concurrent creation or deletion of the key's document.
	errMoved = errors.New("the document of a key was created or deleted concurrently")
	// errEmpty reports that no artifact has the key.
	errEmpty = errors.New("no artifact has the key")
)

// turns bounds the attempts on the document of a key under concurrent changes.
const turns = 20

func (s *Service) follow(ctx context.Context, ws uuid.UUID, key string) error {
	for range turns {
		shown, err := s.latest.First(ctx, ws, bson.D{{Key: "key", Value: key}})
		switch {
		case errors.Is(err, store.ErrNotFound):
			err = s.show(ctx, ws, key)
		case err == nil:
			err = s.refresh(ctx, ws, shown)
		}
		if !errors.Is(err, errMoved) {
			return err
		}
	}
	return fmt.Errorf("follow the latest artifact of a key: %w", store.ErrContention)
}

// newest reads the newest artifact of a key; nil when there is none.
func (s *Service) newest(ctx context.Context, ws uuid.UUID, key string) (*orchv1.Artifact, error) {
	found, err := s.artifacts.Find(ctx, ws, store.Query{Filter: bson.D{{Key: "key", Value: key}}, Sort: bson.D{{Key: "created", Value: -1}, {Key: "_id", Value: -1}}, Limit: 1})
	if err != nil || len(found) == 0 {
		return nil, err
	}
	return found[0], nil
}

// show creates the document of a key, if an artifact has the key.
func (s *Service) show(ctx context.Context, ws uuid.UUID, key string) error {
	newest, err := s.newest(ctx, ws, key)
	if err != nil || newest == nil {
		return err
	}
	shown := showing(newest, &orchv1.ArtifactCollection{Id: s.latest.Store().NewID().String()})
	created, err := s.collected.Effect(ctx, ws, "created", nil, shown)
	if err != nil {
		return err
	}
	err = s.latest.Insert(ctx, ws, shown, created)
	if err == nil || errors.Is(err, store.ErrDuplicate) {
		// A concurrent deletion may have found no document to correct, so check again.
		return errMoved
	}
	return err
}

// refresh writes the newest artifact into the document of its key, or deletes the document if there is none.
func (s *Service) refresh(ctx context.Context, ws uuid.UUID, shown *orchv1.ArtifactCollection) error {
	id, err := resourceid.Parse(shown.GetId())
	if err != nil {
		return err
	}
	_, err = s.latest.Mutate(ctx, ws, id, func(current *orchv1.ArtifactCollection, _ int64) (*store.Change[*orchv1.ArtifactCollection], error) {
		newest, err := s.newest(ctx, ws, current.GetKey())
		if err != nil {
			return nil, err
		}
		if newest == nil {
			return nil, errEmpty
		}
		next := showing(newest, current)
		if proto.Equal(current, next) {
			return nil, nil
		}
		updated, err := s.collected.Effect(ctx, ws, "updated", current, next)
		if err != nil {
			return nil, err
		}
		return &store.Change[*orchv1.ArtifactCollection]{Message: next, Effects: []store.Effect{updated}}, nil
	})
	if errors.Is(err, errEmpty) {
		err = s.hide(ctx, ws, id)
	}
	if errors.Is(err, store.ErrNotFound) {
		return errMoved
	}
	return err
}

// hide deletes the document of a key without artifacts.
func (s *Service) hide(ctx context.Context, ws, id uuid.UUID) error {
	return s.latest.Delete(ctx, ws, id, func(current *orchv1.ArtifactCollection) ([]store.Effect, error) {
		newest, err := s.newest(ctx, ws, current.GetKey())
		if err != nil {
			return nil, err
		}
		if newest != nil {
			return nil, errMoved
		}
		deleted, err := s.collected.Effect(ctx, ws, "deleted", nil, current)
		return []store.Effect{deleted}, err
	})
}

// showing returns a key's document for an artifact; id and times are the document's own.
func showing(artifact *orchv1.Artifact, document *orchv1.ArtifactCollection) *orchv1.ArtifactCollection {
	return &orchv1.ArtifactCollection{
		Id:          document.GetId(),
		Created:     document.GetCreated(),
		Updated:     document.GetUpdated(),
		Key:         artifact.GetKey(),
		LatestId:    artifact.GetId(),
		Type:        artifact.Type,
		Description: artifact.Description,
		Data:        artifact.Data,
		Metadata_:   artifact.GetMetadata_(),
		FlowRunId:   artifact.FlowRunId,
		TaskRunId:   artifact.TaskRunId,
	}
}

package artifacts

import (
	"context"
	"net/http"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/orch-project/orch/pkg/request"
	"github.com/orch-project/orch/pkg/rpc"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/naming"
	"github.com/orch-project/orch/services/orchestration/internal/query"
	"github.com/orch-project/orch/services/orchestration/internal/resourceid"
)

// CreateArtifact stores an artifact. The runs that it names need not exist, because clients may report their runs
// later.
func (s *Service) CreateArtifact(ctx context.Context, r *orchv1.CreateArtifactRequest) (*orchv1.Artifact, error) {
	info, err := request.Incoming(ctx)
	if err != nil {
		return nil, err
	}
	artifact, err := newArtifact(s.artifacts.Store().NewID(), r.GetArtifact())
	if err != nil {
		return nil, err
	}
	if err := s.insert(ctx, info.Workspace, artifact); err != nil {
		return nil, err
	}
	return artifact, rpc.SetStatus(ctx, http.StatusCreated)
}

// insert stores a new artifact and updates its key before the call returns.
func (s *Service) insert(ctx context.Context, ws uuid.UUID, artifact *orchv1.Artifact) error {
	id, err := resourceid.Parse(artifact.GetId())
	if err != nil {
		return err
	}
	effects, err := s.effects(ctx, ws, nil, artifact, "created")
	if err != nil {
		return err
	}
	if err := s.artifacts.Insert(ctx, ws, artifact, effects...); err != nil {
		return err
	}
	s.flush.Flush(ctx, query.Artifact, ws, id)
	return nil
}

// newArtifact builds an artifact from a request. It refuses a malformed key.
func newArtifact(id uuid.UUID, create *orchv1.ArtifactCreate) (*orchv1.Artifact, error) {
	if err := naming.Dashed(create.GetKey(), "Artifact key", "key"); err != nil {
		return nil, err
	}
	return &orchv1.Artifact{
		Id:          id.String(),
		Key:         create.Key,
		Type:        create.Type,
		Description: create.Description,
		Data:        create.Data,
		Metadata_:   shortened(create.GetMetadata_()),
		FlowRunId:   create.FlowRunId,
		TaskRunId:   create.TaskRunId,
	}, nil
}

// maxMetadata is the maximum length of a metadata value in characters.
const maxMetadata = 500

// shortened truncates long metadata values and marks the truncation.
func shortened(metadata *orchv1.StringMap) *orchv1.StringMap {
	for key, value := range metadata.GetValues() {
		if utf8.RuneCountInString(value) > maxMetadata {
			metadata.Values[key] = string([]rune(value)[:maxMetadata]) + "..."
		}
	}
	return metadata
}

package artifacts

import (
	"context"
	"net/http"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/orch-project/orch/pkg/request"
	"github.com/orch-project/orch/pkg/rpc"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/namecheck"
	"github.com/orch-project/orch/services/orchestration/internal/query"
)

// CreateArtifact stores an artifact. The runs that it names need not exist, because clients may report their runs
// later.
func (s *Service) CreateArtifact(ctx context.Context, r *orchv1.CreateArtifactRequest) (*orchv1.Artifact, error) {
	info, err := request.Incoming(ctx)
	if err != nil {
		return nil, err
	}
	return s.insert(ctx, info.Workspace, s.artifacts.Store().NewID(), r.GetArtifact())
}

// insert stores a new artifact and responds with 201.
func (s *Service) insert(ctx context.Context, ws, id uuid.UUID, create *orchv1.ArtifactCreate) (*orchv1.Artifact, error) {
	if err := namecheck.Dashed(create.GetKey(), "Artifact key", "key"); err != nil {
		return nil, err
	}
	artifact := newArtifact(id, create)
	effects, err := s.effects(ctx, ws, nil, artifact, "created")
	if err != nil {
		return nil, err
	}
	if err := s.artifacts.Insert(ctx, ws, artifact, effects...); err != nil {
		return nil, err
	}
	s.flush.Flush(ctx, query.Artifact, id)
	return artifact, rpc.SetStatus(ctx, http.StatusCreated)
}

// newArtifact builds an artifact from a request.
func newArtifact(id uuid.UUID, create *orchv1.ArtifactCreate) *orchv1.Artifact {
	return &orchv1.Artifact{
		Id:          id.String(),
		Key:         create.Key,
		Type:        create.Type,
		Description: create.Description,
		Data:        create.Data,
		Metadata_:   shortened(create.GetMetadata_()),
		FlowRunId:   create.FlowRunId,
		TaskRunId:   create.TaskRunId,
	}
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

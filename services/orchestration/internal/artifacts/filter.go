package artifacts

import (
	"context"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// ReadArtifacts returns the artifacts that match filters on their own fields and on related resources.
func (s *Service) ReadArtifacts(ctx context.Context, r *orchv1.ReadArtifactsRequest) (*orchv1.ArtifactList, error) {
	q := r.GetQuery()
	found, err := s.all.List(ctx, q, q.GetSort(), q)
	return &orchv1.ArtifactList{Artifacts: found}, err
}

// ListArtifacts returns a page of all artifacts, newest first.
func (s *Service) ListArtifacts(ctx context.Context, r *orchv1.ListArtifactsRequest) (*orchv1.ArtifactList, error) {
	found, err := s.all.List(ctx, nil, nil, r)
	return &orchv1.ArtifactList{Artifacts: found}, err
}

// ReadLatestArtifacts returns the keys that match filters on their latest artifacts and on related resources.
func (s *Service) ReadLatestArtifacts(ctx context.Context, r *orchv1.ReadLatestArtifactsRequest) (*orchv1.ArtifactCollectionList, error) {
	q := r.GetQuery()
	found, err := s.keys.List(ctx, q, q.GetSort(), q)
	return &orchv1.ArtifactCollectionList{Artifacts: found}, err
}

// CountArtifacts counts the artifacts that match.
func (s *Service) CountArtifacts(ctx context.Context, r *orchv1.CountArtifactsRequest) (*orchv1.CountResponse, error) {
	return s.all.Count(ctx, r.GetQuery())
}

// CountLatestArtifacts counts the keys that match.
func (s *Service) CountLatestArtifacts(ctx context.Context, r *orchv1.CountLatestArtifactsRequest) (*orchv1.CountResponse, error) {
	return s.keys.Count(ctx, r.GetQuery())
}

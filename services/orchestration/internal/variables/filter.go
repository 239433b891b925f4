package variables

import (
	"context"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// ReadVariables returns the matching variables.
func (s *Service) ReadVariables(ctx context.Context, r *orchv1.ReadVariablesRequest) (*orchv1.VariableList, error) {
	q := r.GetQuery()
	found, err := s.source.List(ctx, q, q.GetSort(), q)
	return &orchv1.VariableList{Variables: found}, err
}

// ListVariables returns a page of all variables.
func (s *Service) ListVariables(ctx context.Context, r *orchv1.ListVariablesRequest) (*orchv1.VariableList, error) {
	found, err := s.source.List(ctx, nil, nil, r)
	return &orchv1.VariableList{Variables: found}, err
}

// CountVariables counts the matching variables.
func (s *Service) CountVariables(ctx context.Context, r *orchv1.CountVariablesRequest) (*orchv1.CountResponse, error) {
	return s.source.Count(ctx, r.GetQuery())
}

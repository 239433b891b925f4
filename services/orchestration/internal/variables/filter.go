package variables

import (
	"context"

	"google.golang.org/protobuf/proto"

	"github.com/orch-project/orch/pkg/request"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/page"
	"github.com/orch-project/orch/services/orchestration/internal/query"
)

// ReadVariables answers the variables that match.
func (s *Service) ReadVariables(ctx context.Context, r *orchv1.ReadVariablesRequest) (*orchv1.VariableList, error) {
	q := r.GetQuery()
	return s.page(ctx, q, q.GetSort(), q.GetOffset(), q.GetLimit())
}

// ListVariables answers a page of all variables.
func (s *Service) ListVariables(ctx context.Context, r *orchv1.ListVariablesRequest) (*orchv1.VariableList, error) {
	return s.page(ctx, nil, orchv1.VariableSort_VARIABLE_SORT_UNSPECIFIED, r.GetOffset(), r.GetLimit())
}

// CountVariables counts the variables that match.
func (s *Service) CountVariables(ctx context.Context, r *orchv1.CountVariablesRequest) (*orchv1.CountResponse, error) {
	selection, err := s.selection(ctx, r.GetQuery())
	if err != nil {
		return nil, err
	}
	n, err := selection.Count(ctx)
	return &orchv1.CountResponse{Count: n}, err
}

// page reads variables. Without a sort, they are ordered by name.
func (s *Service) page(
	ctx context.Context, q proto.Message, order orchv1.VariableSort, offset int64, asked *orchv1.PageLimit,
) (*orchv1.VariableList, error) {
	limit, err := page.Limit(asked)
	if err != nil {
		return nil, err
	}
	selection, err := s.selection(ctx, q)
	if err != nil || limit == 0 {
		return &orchv1.VariableList{}, err
	}
	if order == orchv1.VariableSort_VARIABLE_SORT_UNSPECIFIED {
		order = orchv1.VariableSort_VARIABLE_SORT_NAME_ASC
	}
	sort, err := query.Sort(order)
	if err != nil {
		return nil, err
	}
	raws, err := selection.Page(ctx, sort, offset, limit)
	if err != nil {
		return nil, err
	}
	list := &orchv1.VariableList{}
	for _, raw := range raws {
		variable, err := s.variables.Decode(raw)
		if err != nil {
			return nil, err
		}
		list.Variables = append(list.Variables, variable)
	}
	return list, nil
}

func (s *Service) selection(ctx context.Context, q proto.Message) (*query.Selection, error) {
	info, err := request.Incoming(ctx)
	if err != nil {
		return nil, err
	}
	plan, err := query.NewPlan(query.Variable, q)
	if err != nil {
		return nil, err
	}
	return s.resolver.Select(ctx, info.Workspace, plan)
}

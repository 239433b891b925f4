// Package variables manages variables: named values that runs and templates read.
//
// A variable has an id and a name that is unique within a workspace. Its value is any JSON, stored as sent.
package variables

import (
	"context"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/orch-project/orch/pkg/vocabulary"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/crud"
	"github.com/orch-project/orch/services/orchestration/internal/pagination"
	"github.com/orch-project/orch/services/orchestration/internal/query"
	"github.com/orch-project/orch/services/orchestration/internal/resourceid"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// Service serves variables.
type Service struct {
	orchv1.UnimplementedVariableServiceServer
	variables *store.Collection[*orchv1.Variable]
	source    pagination.Source[*orchv1.Variable]
	// lifecycle publishes the events of a variable.
	lifecycle crud.Lifecycle[*orchv1.Variable]
}

// New returns the service over a store.
func New(s *store.Store, vocab vocabulary.Vocabulary) *Service {
	variables := store.NewCollection(s, query.Variable, &orchv1.Variable{})
	return &Service{
		variables: variables,
		source:    pagination.NewSource(variables, orchv1.VariableSort_VARIABLE_SORT_NAME_ASC),
		lifecycle: crud.Lifecycle[*orchv1.Variable]{
			Store: s, Vocabulary: vocab, Kind: "variable", Name: (*orchv1.Variable).GetName,
			Payload: []protoreflect.Name{"name", "value", "tags"},
		},
	}
}

// notFound is the text of the 404 for an unknown variable.
const notFound crud.NotFound = "Variable not found."

// withName serves a request for the variable of a name: use receives the request's workspace and the variable's id.
func (s *Service) withName(
	ctx context.Context, name string, use func(ctx context.Context, ws, id uuid.UUID) (*emptypb.Empty, error),
) (*emptypb.Empty, error) {
	return crud.ByKey(ctx, notFound, name, func(ctx context.Context, ws uuid.UUID, name string) (*emptypb.Empty, error) {
		variable, err := s.byName(ctx, ws, name)
		if err != nil {
			return nil, err
		}
		id, err := resourceid.Parse(variable.GetId())
		if err != nil {
			return nil, err
		}
		return use(ctx, ws, id)
	})
}

func (s *Service) byName(ctx context.Context, ws uuid.UUID, name string) (*orchv1.Variable, error) {
	return s.variables.First(ctx, ws, bson.D{{Key: "name", Value: name}})
}

// Package variables keeps variables: named values that runs and templates read.
//
// A variable is known by its name within a workspace as well as by its id. Its value is any JSON and stays as it was
// written.
package variables

import (
	"context"
	"errors"
	"net/http"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/orch-project/orch/pkg/request"
	"github.com/orch-project/orch/pkg/rpc"
	"github.com/orch-project/orch/pkg/vocabulary"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/events"
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
	vocab     vocabulary.Vocabulary
}

// New returns the service over a store.
func New(s *store.Store, vocab vocabulary.Vocabulary) *Service {
	variables := store.NewCollection(s, query.Variable, &orchv1.Variable{})
	return &Service{
		variables: variables,
		source:    pagination.NewSource(variables, orchv1.VariableSort_VARIABLE_SORT_NAME_ASC),
		vocab:     vocab,
	}
}

func translate(err error) error {
	if errors.Is(err, store.ErrNotFound) {
		return rpc.Detail(http.StatusNotFound, "Variable not found.")
	}
	return err
}

// locateName reads the workspace of a call and finds the id of the variable of that name.
func (s *Service) locateName(ctx context.Context, name string) (ws, id uuid.UUID, err error) {
	info, err := request.Incoming(ctx)
	if err != nil {
		return uuid.Nil, uuid.Nil, err
	}
	variable, err := s.byName(ctx, info.Workspace, name)
	if err != nil {
		return uuid.Nil, uuid.Nil, err
	}
	id, err = resourceid.Parse(variable.GetId())
	return info.Workspace, id, err
}

func (s *Service) byName(ctx context.Context, ws uuid.UUID, name string) (*orchv1.Variable, error) {
	return s.variables.First(ctx, ws, bson.D{{Key: "name", Value: name}})
}

// lifecycle is the effect that tells what happened to a variable; before is what it was, nil where it was not or is as
// it was.
func (s *Service) lifecycle(ws uuid.UUID, variable, before *orchv1.Variable, verb string) (store.Effect, error) {
	id, err := resourceid.Parse(variable.GetId())
	if err != nil {
		return store.Effect{}, err
	}
	payload, err := events.Payload(variable, before, "name", "value", "tags")
	if err != nil {
		return store.Effect{}, err
	}
	of := s.variables.Store()
	return events.Publish(ws, events.Lifecycle{
		ID: of.NewID(), Kind: "variable", Verb: verb, Of: id, Name: variable.GetName(), At: of.Now(), Payload: payload,
	}.Event(s.vocab))
}

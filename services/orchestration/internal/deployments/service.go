// Package deployments keeps deployments: flows made ready to be run, with their parameters and schedules.
//
// A deployment is known by its flow and its name within a workspace; creating it again changes the one that exists.
// Every change makes the runs obsolete that were scheduled under the old settings, so it deletes those that have not
// begun, as an effect of the write:
//
//	create, update, pause, schedules ──► store ──► outbox: event, delete the auto-scheduled runs; due for the scheduler
//	create_flow_run ──► parameters (merge, hydrate, validate) ──► package flowruns
package deployments

import (
	"context"
	"errors"
	"net/http"

	"github.com/google/uuid"

	"github.com/orch-project/orch/pkg/rpc"
	"github.com/orch-project/orch/pkg/vocabulary"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/flowruns"
	"github.com/orch-project/orch/services/orchestration/internal/outbox"
	"github.com/orch-project/orch/services/orchestration/internal/pagination"
	"github.com/orch-project/orch/services/orchestration/internal/parameters"
	"github.com/orch-project/orch/services/orchestration/internal/query"
	"github.com/orch-project/orch/services/orchestration/internal/schedules"
	"github.com/orch-project/orch/services/orchestration/internal/store"
	"github.com/orch-project/orch/services/orchestration/internal/workpools"
)

// Service serves deployments.
type Service struct {
	orchv1.UnimplementedDeploymentServiceServer
	orchv1.UnimplementedUiScheduleServiceServer
	deployments *store.Collection[*orchv1.Deployment]
	flows       *store.Collection[*orchv1.Flow]
	runs        *flowruns.Service
	scheduler   *schedules.Scheduler
	source      pagination.Source[*orchv1.Deployment]
	vocab       vocabulary.Vocabulary
	hydrator    *parameters.Hydrator
	block       Block
	limit       Limit
	pools       *workpools.Pools
	shown       Shown
	follow      Follow
	flush       outbox.Flusher
}

// Block reports whether a workspace has a block of that id.
type Block func(ctx context.Context, ws, id uuid.UUID) (bool, error)

// Limit reads a concurrency limit of a workspace as deployments show it; nil when there is none of that id.
type Limit func(ctx context.Context, ws, id uuid.UUID) (*orchv1.DeploymentConcurrencyLimit, error)

// Shown reads the limit that a deployment is under, by its own choice or as its own; nil when there is none.
type Shown func(ctx context.Context, ws uuid.UUID, d *orchv1.Deployment) (*orchv1.DeploymentConcurrencyLimit, error)

// Follow is the effect that gives a deployment a concurrency limit of its own with so many slots; nil takes it away.
type Follow func(ws, deployment uuid.UUID, slots *int64) store.Effect

// Deps are the dependencies of the service.
type Deps struct {
	Store *store.Store
	// Runs are where the deployments' runs are made.
	Runs *flowruns.Service
	// Scheduler creates the runs of schedules.
	Scheduler *schedules.Scheduler
	// Variable, Block and Limit look up what other packages keep.
	Variable parameters.Variable
	Block    Block
	Limit    Limit
	// Pools has the queues that deployments name.
	Pools *workpools.Pools
	// Shown finds the limit that a deployment is under.
	Shown Shown
	// Follow keeps the deployments' own limits; nil where nobody does.
	Follow Follow
	// Flush executes the effects of a write before its call returns.
	Flush      outbox.Flusher
	Vocabulary vocabulary.Vocabulary
}

// New returns the service.
func New(d Deps) *Service {
	deployments := store.NewCollection(d.Store, query.Deployment, &orchv1.Deployment{})
	return &Service{
		deployments: deployments,
		flows:       store.NewCollection(d.Store, query.Flow, &orchv1.Flow{}),
		runs:        d.Runs,
		scheduler:   d.Scheduler,
		source:      pagination.NewSource(deployments, orchv1.DeploymentSort_DEPLOYMENT_SORT_NAME_ASC),
		vocab:       d.Vocabulary,
		hydrator:    parameters.NewHydrator(d.Variable),
		block:       d.Block,
		limit:       d.Limit,
		pools:       d.Pools,
		shown:       d.Shown,
		follow:      d.Follow,
		flush:       d.Flush,
	}
}

func translate(err error) error {
	if errors.Is(err, store.ErrNotFound) {
		return rpc.Detail(http.StatusNotFound, "Deployment not found")
	}
	return err
}

// limitEffects are what a change of the size of a deployment's own limit causes.
func (s *Service) limitEffects(ws, id uuid.UUID, before, after *int64) []store.Effect {
	same := (before == nil) == (after == nil) && (before == nil || *before == *after)
	if same || s.follow == nil {
		return nil
	}
	return []store.Effect{s.follow(ws, id, after)}
}

// present fills in what a deployment shows and does not store.
func (s *Service) present(ctx context.Context, ws uuid.UUID, d *orchv1.Deployment) (*orchv1.Deployment, error) {
	d.Schedules = latestFirst(d.GetSchedules())
	if d.ConcurrencyLimitId == nil && d.ConcurrencySlots == nil {
		return d, nil
	}
	var err error
	d.GlobalConcurrencyLimit, err = s.shown(ctx, ws, d)
	return d, err
}

// Package deployments stores deployments: flows that are ready to run, with parameters and schedules.
//
// A deployment is identified by its flow and its name within a workspace; creating it again updates it. Every change
// invalidates the runs scheduled under the old settings, so an effect of the write deletes those that have not begun:
//
//	create, update, pause, schedules ──► store ──► outbox: event, delete the auto-scheduled runs; due for the scheduler
//	create_flow_run ──► parameters (merge, hydrate, validate) ──► package flowruns
package deployments

import (
	"context"
	"errors"
	"net/http"

	"github.com/google/uuid"

	"github.com/orch-project/orch/pkg/admission"
	"github.com/orch-project/orch/pkg/rpc"
	"github.com/orch-project/orch/pkg/vocabulary"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/flowruns"
	"github.com/orch-project/orch/services/orchestration/internal/outbox"
	"github.com/orch-project/orch/services/orchestration/internal/pagination"
	"github.com/orch-project/orch/services/orchestration/internal/parameters"
	"github.com/orch-project/orch/services/orchestration/internal/query"
	"github.com/orch-project/orch/services/orchestration/internal/quotas"
	"github.com/orch-project/orch/services/orchestration/internal/schedules"
	"github.com/orch-project/orch/services/orchestration/internal/store"
	"github.com/orch-project/orch/services/orchestration/internal/workpools"
)

// Service serves deployments.
type Service struct {
	orchv1.UnimplementedDeploymentServiceServer
	orchv1.UnimplementedUiScheduleServiceServer
	deployments *store.Collection[*orchv1.Deployment]
	queues      *store.Collection[*orchv1.WorkQueue]
	flows       *store.Collection[*orchv1.Flow]
	runs        *flowruns.Service
	scheduler   *schedules.Scheduler
	admission   *admission.Controller
	source      pagination.Source[*orchv1.Deployment]
	vocab       vocabulary.Vocabulary
	hydrator    *parameters.Hydrator
	block       Block
	limit       Limit
	pools       *workpools.Pools
	shown       Shown
	follow      Follow
	quotas      *quotas.Service
	flush       outbox.Flusher
}

// Block reports whether a workspace has a block with that id.
type Block func(ctx context.Context, ws, id uuid.UUID) (bool, error)

// Limit returns a concurrency limit of a workspace as deployments show it, or nil.
type Limit func(ctx context.Context, ws, id uuid.UUID) (*orchv1.DeploymentConcurrencyLimit, error)

// Shown returns the limit that applies to a deployment, referenced or its own, or nil.
type Shown func(ctx context.Context, ws uuid.UUID, d *orchv1.Deployment) (*orchv1.DeploymentConcurrencyLimit, error)

// Follow is the effect that sets the slots of a deployment's own concurrency limit; nil deletes the limit.
type Follow func(ws, deployment uuid.UUID, slots *int64) store.Effect

// Deps are the dependencies of the service.
type Deps struct {
	Store *store.Store
	// Runs creates the deployments' runs.
	Runs *flowruns.Service
	// Scheduler creates the runs of schedules.
	Scheduler *schedules.Scheduler
	// Variable, Block and Limit read resources of other packages.
	Variable parameters.Variable
	Block    Block
	Limit    Limit
	// Pools resolves the queues that deployments name.
	Pools *workpools.Pools
	// Shown returns the limit that applies to a deployment.
	Shown Shown
	// Follow updates the deployments' own limits; nil disables them.
	Follow Follow
	// Quotas admit new deployments; nil admits all.
	Quotas *quotas.Service
	// Flush executes the effects of a write before its call returns.
	Flush      outbox.Flusher
	Vocabulary vocabulary.Vocabulary
	// Admission bounds previews of schedules; nil has no bound.
	Admission *admission.Controller
}

// New returns the service.
func New(d Deps) *Service {
	deployments := store.NewCollection(d.Store, query.Deployment, &orchv1.Deployment{})
	return &Service{
		deployments: deployments,
		queues:      store.NewCollection(d.Store, query.WorkQueue, &orchv1.WorkQueue{}),
		flows:       store.NewCollection(d.Store, query.Flow, &orchv1.Flow{}),
		runs:        d.Runs,
		scheduler:   d.Scheduler,
		admission:   d.Admission,
		source:      pagination.NewSource(deployments, orchv1.DeploymentSort_DEPLOYMENT_SORT_NAME_ASC),
		vocab:       d.Vocabulary,
		hydrator:    parameters.NewHydrator(d.Variable),
		block:       d.Block,
		limit:       d.Limit,
		pools:       d.Pools,
		shown:       d.Shown,
		follow:      d.Follow,
		quotas:      d.Quotas,
		flush:       d.Flush,
	}
}

func translate(err error) error {
	if errors.Is(err, store.ErrNotFound) {
		return rpc.Detail(http.StatusNotFound, "Deployment not found")
	}
	return err
}

// limitEffects are the effects of a change to a deployment's own limit.
func (s *Service) limitEffects(ws, id uuid.UUID, before, after *int64) []store.Effect {
	same := (before == nil) == (after == nil) && (before == nil || *before == *after)
	if same || s.follow == nil {
		return nil
	}
	return []store.Effect{s.follow(ws, id, after)}
}

// present sets the computed fields of a deployment.
func (s *Service) present(ctx context.Context, ws uuid.UUID, d *orchv1.Deployment) (*orchv1.Deployment, error) {
	d.Schedules = latestFirst(d.GetSchedules())
	if d.ConcurrencyLimitId == nil && d.ConcurrencySlots == nil {
		return d, nil
	}
	var err error
	d.GlobalConcurrencyLimit, err = s.shown(ctx, ws, d)
	return d, err
}

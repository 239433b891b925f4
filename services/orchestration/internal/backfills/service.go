package backfills

import (
	"context"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"go.mongodb.org/mongo-driver/v2/bson"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/orch-project/orch/pkg/admission"
	"github.com/orch-project/orch/pkg/request"
	"github.com/orch-project/orch/pkg/vocabulary"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/crud"
	"github.com/orch-project/orch/services/orchestration/internal/flowruns"
	"github.com/orch-project/orch/services/orchestration/internal/outbox"
	"github.com/orch-project/orch/services/orchestration/internal/pagination"
	"github.com/orch-project/orch/services/orchestration/internal/query"
	"github.com/orch-project/orch/services/orchestration/internal/resourceid"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// Service serves backfills, and creates their runs.
type Service struct {
	orchv1.UnimplementedBackfillServiceServer
	backfills   *store.Collection[*orchv1.Backfill]
	deployments *store.Collection[*orchv1.Deployment]
	flows       *store.Collection[*orchv1.Flow]
	lifecycle   crud.Lifecycle[*orchv1.Backfill]
	runs        *flowruns.Service
	check       CheckParameters
	admission   *admission.Controller
	flush       outbox.Flusher
	metrics     *metrics
	// label names the label of runs that has the id of their backfill.
	label string

	// reached is the last backfill that the last pass examined, if it had no time for all of them; only passes use it.
	reached uuid.UUID
}

// CheckParameters refuses parameters that, merged over the parameters of a deployment, its flow does not accept.
type CheckParameters func(ctx context.Context, ws uuid.UUID, d *orchv1.Deployment, parameters []byte) error

// Deps are what the service works with.
type Deps struct {
	Store      *store.Store
	Vocabulary vocabulary.Vocabulary
	Runs       *flowruns.Service
	Check      CheckParameters
	Admission  *admission.Controller
	Flush      outbox.Flusher
	// Registry may be nil.
	Registry prometheus.Registerer
}

// New returns the service over a store.
func New(d Deps) *Service {
	return &Service{
		backfills:   store.NewCollection(d.Store, query.Backfill, &orchv1.Backfill{}),
		deployments: store.NewCollection(d.Store, query.Deployment, &orchv1.Deployment{}),
		flows:       store.NewCollection(d.Store, query.Flow, &orchv1.Flow{}),
		lifecycle: crud.Lifecycle[*orchv1.Backfill]{
			Store: d.Store, Vocabulary: d.Vocabulary, Kind: "backfill",
			Name:    func(*orchv1.Backfill) string { return "" },
			Related: relatedOf(d.Vocabulary),
			Payload: []protoreflect.Name{
				"start_time", "end_time", "state", "total_runs", "created_runs", "completed_runs", "failed_runs", "cancelled_runs",
			},
		},
		runs: d.Runs, check: d.Check, admission: d.Admission, flush: d.Flush, metrics: newMetrics(d.Registry), label: d.Vocabulary.Name("backfill", "id"),
	}
}

// notFound is the text of the 404 for an unknown backfill.
const notFound crud.NotFound = "Backfill not found."

// present completes a backfill as clients read it.
func present(b *orchv1.Backfill) *orchv1.Backfill {
	b.UnfinishedRuns = int64(len(b.GetUnfinished()))
	return b
}

// ReadBackfill returns a backfill by its id.
func (s *Service) ReadBackfill(ctx context.Context, r *orchv1.ReadBackfillRequest) (*orchv1.Backfill, error) {
	return crud.ByID(ctx, notFound, r.GetId(), func(ctx context.Context, ws, id uuid.UUID) (*orchv1.Backfill, error) {
		b, err := s.backfills.Get(ctx, ws, id)
		if err != nil {
			return nil, err
		}
		return present(b), nil
	})
}

// newestFirst is the order of lists.
var newestFirst = bson.D{{Key: "_id", Value: -1}}

// ReadBackfills returns a page of the backfills of the workspace or of one deployment.
func (s *Service) ReadBackfills(ctx context.Context, r *orchv1.ReadBackfillsRequest) (*orchv1.BackfillList, error) {
	info, err := request.Incoming(ctx)
	if err != nil {
		return nil, err
	}
	var filter bson.D
	if r.GetQuery().DeploymentId != nil {
		deployment, err := resourceid.Parse(r.GetQuery().GetDeploymentId())
		if err != nil {
			return nil, err
		}
		filter = bson.D{{Key: "deployment_id", Value: store.Binary(deployment)}}
	}
	found, err := pagination.Find(ctx, s.backfills, info.Workspace, filter, newestFirst, r.GetQuery(), r)
	for _, b := range found {
		present(b)
	}
	return &orchv1.BackfillList{Backfills: found}, err
}

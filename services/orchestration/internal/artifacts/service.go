// Package artifacts manages artifacts: results that runs publish for people.
//
// Artifacts of one key are versions of one thing. One additional document per key holds the latest version, for lists
// of keys. An effect of each artifact write updates it, before the call returns where possible:
//
//	create, update, replace, delete ──► artifact (with the effect) ──► follow: newest of the key ──► artifact_latest
//
// The update reads what is stored instead of trusting the effect, and writes by compare-and-set. So effects may run in
// any order and repeatedly.
package artifacts

import (
	"context"

	"github.com/google/uuid"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/orch-project/orch/pkg/request"
	"github.com/orch-project/orch/pkg/vocabulary"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/crud"
	"github.com/orch-project/orch/services/orchestration/internal/events"
	"github.com/orch-project/orch/services/orchestration/internal/outbox"
	"github.com/orch-project/orch/services/orchestration/internal/pagination"
	"github.com/orch-project/orch/services/orchestration/internal/query"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// Service serves artifacts.
type Service struct {
	orchv1.UnimplementedArtifactServiceServer
	artifacts *store.Collection[*orchv1.Artifact]
	all       pagination.Source[*orchv1.Artifact]
	latest    *store.Collection[*orchv1.ArtifactCollection]
	keys      pagination.Source[*orchv1.ArtifactCollection]
	flush     outbox.Flusher
	// lifecycle publishes the events of an artifact, collected those of a key.
	lifecycle crud.Lifecycle[*orchv1.Artifact]
	collected crud.Lifecycle[*orchv1.ArtifactCollection]
}

// Deps are the service's dependencies.
type Deps struct {
	Store *store.Store
	// Flush executes the effects of a write before its call returns.
	Flush      outbox.Flusher
	Vocabulary vocabulary.Vocabulary
}

// New returns the service.
func New(d Deps) *Service {
	artifacts := store.NewCollection(d.Store, query.Artifact, &orchv1.Artifact{})
	latest := store.NewCollection(d.Store, query.ArtifactLatest, &orchv1.ArtifactCollection{})
	return &Service{
		artifacts: artifacts,
		all:       pagination.NewSource(artifacts, orchv1.ArtifactSort_ARTIFACT_SORT_ID_DESC),
		latest:    latest,
		keys:      pagination.NewSource(latest, orchv1.ArtifactCollectionSort_ARTIFACT_COLLECTION_SORT_ID_DESC),
		flush:     d.Flush,
		lifecycle: crud.Lifecycle[*orchv1.Artifact]{
			Store: d.Store, Vocabulary: d.Vocabulary, Kind: "artifact", Name: (*orchv1.Artifact).GetKey,
			Related: func(a *orchv1.Artifact) []*orchv1.RelatedResource { return runs(d.Vocabulary, a) },
			Payload: []protoreflect.Name{"key", "type", "description"},
		},
		collected: crud.Lifecycle[*orchv1.ArtifactCollection]{
			Store: d.Store, Vocabulary: d.Vocabulary, Kind: "artifact-collection", Name: (*orchv1.ArtifactCollection).GetKey,
			Related: func(shown *orchv1.ArtifactCollection) []*orchv1.RelatedResource {
				latest := events.Related(d.Vocabulary, "artifact", shown.GetLatestId(), "latest", "")
				return append([]*orchv1.RelatedResource{latest}, runs(d.Vocabulary, shown)...)
			},
			Payload: []protoreflect.Name{"key", "type", "data", "description"},
		},
	}
}

// notFound is the text of the 404 for an unknown artifact.
const notFound crud.NotFound = "Artifact not found."

// effects returns the effects of writing an artifact. The key's update comes first, because it needs no broker. before
// is the previous artifact, nil for a new one. Events that clients publish themselves are omitted.
func (s *Service) effects(ctx context.Context, ws uuid.UUID, before, artifact *orchv1.Artifact, verb string) ([]store.Effect, error) {
	var caused []store.Effect
	if artifact.Key != nil {
		caused = append(caused, s.followed(ws, artifact.GetKey()))
	}
	if before != nil && before.Key != nil && (artifact.Key == nil || artifact.GetKey() != before.GetKey()) {
		caused = append(caused, s.followed(ws, before.GetKey()))
	}
	if verb != "deleted" && request.Client(ctx).PublishesArtifactEvents() {
		return caused, nil
	}
	happened, err := s.lifecycle.Effect(ctx, ws, verb, before, artifact)
	return append(caused, happened), err
}

// ofRuns is an artifact, or a key's document.
type ofRuns interface {
	GetFlowRunId() string
	GetTaskRunId() string
}

// runs returns the runs of an artifact or key as related resources.
func runs(vocab vocabulary.Vocabulary, artifact ofRuns) []*orchv1.RelatedResource {
	var related []*orchv1.RelatedResource
	if run := artifact.GetFlowRunId(); run != "" {
		related = append(related, events.Related(vocab, "flow-run", run, "flow-run", ""))
	}
	if run := artifact.GetTaskRunId(); run != "" {
		related = append(related, events.Related(vocab, "task-run", run, "task-run", ""))
	}
	return related
}

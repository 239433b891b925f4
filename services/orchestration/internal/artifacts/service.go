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
	"errors"
	"net/http"

	"github.com/google/uuid"

	"github.com/orch-project/orch/pkg/rpc"
	"github.com/orch-project/orch/pkg/vocabulary"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/events"
	"github.com/orch-project/orch/services/orchestration/internal/outbox"
	"github.com/orch-project/orch/services/orchestration/internal/pagination"
	"github.com/orch-project/orch/services/orchestration/internal/query"
	"github.com/orch-project/orch/services/orchestration/internal/resourceid"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// Service serves artifacts.
type Service struct {
	orchv1.UnimplementedArtifactServiceServer
	artifacts *store.Collection[*orchv1.Artifact]
	all       pagination.Source[*orchv1.Artifact]
	latest    *store.Collection[*orchv1.ArtifactCollection]
	keys      pagination.Source[*orchv1.ArtifactCollection]
	vocab     vocabulary.Vocabulary
	flush     outbox.Flusher
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
		vocab:     d.Vocabulary,
		flush:     d.Flush,
	}
}

func translate(err error) error {
	if errors.Is(err, store.ErrNotFound) {
		return rpc.Detail(http.StatusNotFound, "Artifact not found.")
	}
	return err
}

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
	if verb != "deleted" && resourceid.Client(ctx).TellsOfArtifacts() {
		return caused, nil
	}
	payload, err := events.Payload(artifact, before, "key", "type", "description")
	if err != nil {
		return nil, err
	}
	happened, err := s.lifecycle(ws, "artifact", verb, artifact, payload)
	return append(caused, happened), err
}

// collected returns the event of a key's change; before is the previous document, nil if there was none or it is
// unchanged.
func (s *Service) collected(ws uuid.UUID, shown, before *orchv1.ArtifactCollection, verb string) (store.Effect, error) {
	payload, err := events.Payload(shown, before, "key", "type", "data", "description")
	if err != nil {
		return store.Effect{}, err
	}
	return s.lifecycle(ws, "artifact-collection", verb, shown, payload,
		events.Related(s.vocab, "artifact", shown.GetLatestId(), "latest", ""))
}

// kept is an artifact, or a key with all its artifacts. One without a key has no name.
type kept interface {
	GetId() string
	GetKey() string
	GetFlowRunId() string
	GetTaskRunId() string
}

// lifecycle returns the lifecycle event of an artifact or key. Its runs are related resources.
func (s *Service) lifecycle(ws uuid.UUID, kind, verb string, of kept, payload []byte, related ...*orchv1.RelatedResource) (store.Effect, error) {
	id, err := resourceid.Parse(of.GetId())
	if err != nil {
		return store.Effect{}, err
	}
	at := s.artifacts.Store()
	e := events.Lifecycle{
		ID: at.NewID(), Kind: kind, Verb: verb, Of: id, Name: of.GetKey(), At: at.Now(), Payload: payload,
	}.Event(s.vocab)
	if run := of.GetFlowRunId(); run != "" {
		related = append(related, events.Related(s.vocab, "flow-run", run, "flow-run", ""))
	}
	if run := of.GetTaskRunId(); run != "" {
		related = append(related, events.Related(s.vocab, "task-run", run, "task-run", ""))
	}
	e.Related = related
	return events.Publish(ws, e)
}

// Package automations keeps automations: what is to be done when events happen, or do not happen.
//
//	request ──► defaults, ids ──► check: triggers, actions, templates, loops ──► store, with what it relates to
//
// Here automations are stored and checked; package engine evaluates them, and package action does what they say. Ids of triggers are the server's: each write gives
// every trigger a new one, so that what was counted for an older form of it is not counted for the newer.
package automations

import (
	"errors"
	"net/http"
	"time"

	"github.com/google/uuid"

	"github.com/orch-project/orch/pkg/admission"
	"github.com/orch-project/orch/pkg/rpc"
	"github.com/orch-project/orch/pkg/vocabulary"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/events"
	"github.com/orch-project/orch/services/orchestration/internal/outbox"
	"github.com/orch-project/orch/services/orchestration/internal/pagination"
	"github.com/orch-project/orch/services/orchestration/internal/query"
	"github.com/orch-project/orch/services/orchestration/internal/quotas"
	"github.com/orch-project/orch/services/orchestration/internal/resourceid"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// Service serves automations.
type Service struct {
	orchv1.UnimplementedAutomationServiceServer
	automations *store.Collection[*orchv1.Automation]
	events      *store.Collection[*orchv1.ReceivedEvent]
	actions     *store.Collection[*orchv1.AutomationActionRun]
	source      pagination.Source[*orchv1.Automation]
	deliveries  *store.Collection[*orchv1.DestinationDelivery]
	delivered   pagination.Source[*orchv1.DestinationDelivery]
	*Checker
	flush     outbox.Flusher
	quotas    *quotas.Service
	admission *admission.Controller
	// evaluationTime bounds an evaluation over the past, and a preview.
	evaluationTime time.Duration
	render         Render
}

// New returns the service over a store. Changes are published before calls return, so events that a client sends
// afterwards meet the changed automations. quotas admit new automations; nil admits all.
// bounds, which may be nil, bound the checks. render renders previews.
func New(
	s *store.Store, vocab vocabulary.Vocabulary, flush outbox.Flusher, quotas *quotas.Service, bounds *admission.Controller, render Render,
) *Service {
	automations := store.NewCollection(s, query.Automation, &orchv1.Automation{})
	deliveries := store.NewCollection(s, query.DestinationDelivery, &orchv1.DestinationDelivery{})
	return &Service{
		automations: automations,
		events:      store.NewCollection(s, query.Event, &orchv1.ReceivedEvent{}, store.ClientIDs),
		actions:     store.NewCollection(s, query.AutomationAction, &orchv1.AutomationActionRun{}),
		source:      pagination.NewSource(automations, orchv1.AutomationSort_AUTOMATION_SORT_NAME_ASC),
		deliveries:  deliveries,
		delivered:   pagination.NewSource(deliveries, orchv1.DestinationDeliverySort_DESTINATION_DELIVERY_SORT_QUEUED_DESC),
		Checker:     newChecker(vocab, s.NewID),
		flush:       flush,
		quotas:      quotas,
		admission:   bounds,

		evaluationTime: evaluationTime,
		render:         render,
	}
}

func translate(err error) error {
	if errors.Is(err, store.ErrNotFound) {
		return rpc.ExceptionMessage(http.StatusNotFound, "Automation not found")
	}
	return err
}

// lifecycle is the effect that tells what happened to an automation.
func (s *Service) lifecycle(ws uuid.UUID, automation, before *orchv1.Automation, verb string) (store.Effect, error) {
	id, err := resourceid.Parse(automation.GetId())
	if err != nil {
		return store.Effect{}, err
	}
	payload, err := events.Payload(automation, before,
		"id", "name", "description", "enabled", "tags", "trigger", "actions", "actions_on_trigger", "actions_on_resolve")
	if err != nil {
		return store.Effect{}, err
	}
	db := s.automations.Store()
	return events.Publish(ws, events.Lifecycle{
		ID: db.NewID(), Kind: "automation", Verb: verb, Of: id, Name: automation.GetName(), At: db.Now(), Payload: payload,
	}.Event(s.vocab))
}

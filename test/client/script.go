package client

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"time"

	"github.com/google/uuid"
	openapi_types "github.com/oapi-codegen/runtime/types"
)

// pollInterval is the time between two looks for what is stored soon after it was accepted.
const pollInterval = 50 * time.Millisecond

// Script does what the README shows, with the generated client, against the API at baseURL (it ends in /api):
// a webhook turns a push into an event, and a run of a flow goes from SCHEDULED to COMPLETED. The server speaks its own
// vocabulary and needs no credentials. The first thing that is not as promised is the error.
func Script(ctx context.Context, baseURL string) error {
	own := &http.Client{Transport: &http.Transport{}}
	defer own.CloseIdleConnections()
	api, err := NewClientWithResponses(baseURL, WithHTTPClient(own))
	if err != nil {
		return fmt.Errorf("make the client: %w", err)
	}
	s := &script{http: own, api: api, name: "readme-" + uuid.NewString()}
	for _, step := range []func(context.Context) error{
		s.createWebhook, s.postPush, s.readEvent, s.createFlow, s.createRun, s.runToCompletion, s.findFlow,
	} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

// script is what one step leaves to the next.
type script struct {
	http     *http.Client
	api      *ClientWithResponses
	name     string // unique to this run of the script
	webhook  *Webhook
	delivery string
	flow     *Flow
	run      *FlowRunResponse
}

func (s *script) createWebhook(ctx context.Context) error {
	result, err := s.api.CreateWebhookWithResponse(ctx, WebhookCreate{Name: s.name, Template: template})
	if err != nil {
		return fmt.Errorf("create a webhook: %w", err)
	}
	if s.webhook = result.JSON201; s.webhook == nil {
		return unexpected("create a webhook", result.HTTPResponse, result.Body)
	}
	if s.webhook.Url == nil {
		return fmt.Errorf("create a webhook: it has no url: %s", result.Body)
	}
	return nil
}

func (s *script) postPush(ctx context.Context) error {
	s.delivery = uuid.NewString()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, *s.webhook.Url, bytes.NewReader(push))
	if err != nil {
		return fmt.Errorf("post the push: %w", err)
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("User-Agent", "GitHub-Hookshot/044aadd")
	request.Header.Set("X-GitHub-Event", "push")
	request.Header.Set("X-GitHub-Delivery", s.delivery)
	answer, err := s.http.Do(request)
	if err != nil {
		return fmt.Errorf("post the push: %w", err)
	}
	defer func() { _ = answer.Body.Close() }()
	if answer.StatusCode != http.StatusNoContent {
		return unexpected("post the push", answer, nil)
	}
	return nil
}

// readEvent waits until the event can be read: it was stored when the push was answered, and is read soon after.
func (s *script) readEvent(ctx context.Context) error {
	names, resources := []string{"github.push"}, []string{repository}
	query := EventQuery{Filter: &EventFilter{
		Event:    &EventNameFilter{Name: &names},
		Resource: &EventResourceFilter{Id: &resources},
	}}
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	for {
		result, err := s.api.ReadEventsWithResponse(ctx, query)
		if err != nil {
			return fmt.Errorf("read the event: %w", err)
		}
		if result.JSON200 == nil {
			return unexpected("read the event", result.HTTPResponse, result.Body)
		}
		for _, event := range result.JSON200.Events {
			if event.Payload != nil && (*event.Payload)["delivery"] == s.delivery {
				return checkPush(event)
			}
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("read the event: it is not among %d: %w", result.JSON200.Total, ctx.Err())
		case <-tick.C:
		}
	}
}

func checkPush(event ReceivedEvent) error {
	want := map[string]any{
		"branch":  "main",
		"pusher":  "mona",
		"message": "Load the orders of the north, too\n\nCloses #42. “Größe” stays as it is.",
		"files":   []any{"flows/orders.py", "README.md"},
	}
	for key, value := range want {
		if got := (*event.Payload)[key]; !reflect.DeepEqual(got, value) {
			return fmt.Errorf("read the event: its %s is %v, not %v", key, got, value)
		}
	}
	if event.Related == nil || len(*event.Related) == 0 {
		return fmt.Errorf("read the event: the webhook is not related to %s", event.Id)
	}
	return nil
}

func (s *script) createFlow(ctx context.Context) error {
	result, err := s.api.CreateFlowWithResponse(ctx, FlowCreate{Name: s.name, Tags: &[]string{"readme"}})
	if err != nil {
		return fmt.Errorf("create a flow: %w", err)
	}
	if s.flow = first(result.JSON201, result.JSON200); s.flow == nil {
		return unexpected("create a flow", result.HTTPResponse, result.Body)
	}
	return nil
}

func (s *script) createRun(ctx context.Context) error {
	result, err := s.api.CreateFlowRunWithResponse(ctx, FlowRunCreate{
		FlowId:     s.flow.Id,
		Parameters: &map[string]any{"region": "north"},
		State:      &StateCreate{Type: StateTypeSCHEDULED},
	})
	if err != nil {
		return fmt.Errorf("create a run: %w", err)
	}
	if s.run = first(result.JSON201, result.JSON200); s.run == nil {
		return unexpected("create a run", result.HTTPResponse, result.Body)
	}
	return isIn(s.run.State, StateTypeSCHEDULED)
}

func (s *script) runToCompletion(ctx context.Context) error {
	for _, next := range []StateType{StateTypePENDING, StateTypeRUNNING, StateTypeCOMPLETED} {
		result, err := s.api.SetFlowRunStateWithResponse(ctx, s.run.Id, FlowRunTransition{State: StateCreate{Type: next}})
		if err != nil {
			return fmt.Errorf("propose %s: %w", next, err)
		}
		verdict := first(result.JSON201, result.JSON200)
		if verdict == nil {
			return unexpected(fmt.Sprintf("propose %s", next), result.HTTPResponse, result.Body)
		}
		if verdict.Status != SetStateStatusACCEPT {
			return fmt.Errorf("propose %s: %s", next, result.Body)
		}
		kind, err := verdict.Details.Discriminator()
		if err != nil {
			return fmt.Errorf("propose %s: read the details: %w", next, err)
		}
		if kind != "accept_details" {
			return fmt.Errorf("propose %s: accepted with %s", next, kind)
		}
		if err := isIn(verdict.State, next); err != nil {
			return err
		}
	}
	return s.checkHistory(ctx)
}

// checkHistory expects the four states, oldest first.
func (s *script) checkHistory(ctx context.Context) error {
	result, err := s.api.ReadFlowRunStatesWithResponse(ctx, &ReadFlowRunStatesParams{FlowRunId: s.run.Id})
	if err != nil {
		return fmt.Errorf("read the run's history: %w", err)
	}
	if result.JSON200 == nil {
		return unexpected("read the run's history", result.HTTPResponse, result.Body)
	}
	var got []StateType
	for _, state := range *result.JSON200 {
		got = append(got, state.Type)
	}
	if want := []StateType{StateTypeSCHEDULED, StateTypePENDING, StateTypeRUNNING, StateTypeCOMPLETED}; !slices.Equal(got, want) {
		return fmt.Errorf("read the run's history: %v, not %v", got, want)
	}
	return nil
}

// findFlow lists the flows that have a completed run.
func (s *script) findFlow(ctx context.Context) error {
	result, err := s.api.ReadFlowsWithResponse(ctx, FlowQuery{
		FlowRuns: &FlowRunFilter{State: &FlowRunFilterState{Type: &FlowRunFilterStateType{Any: &[]StateType{StateTypeCOMPLETED}}}},
	})
	if err != nil {
		return fmt.Errorf("list flows: %w", err)
	}
	if result.JSON200 == nil {
		return unexpected("list flows", result.HTTPResponse, result.Body)
	}
	if !slices.ContainsFunc(*result.JSON200, func(flow Flow) bool { return flow.Id == s.flow.Id }) {
		return fmt.Errorf("list flows: %s is not among the %d with a completed run", s.flow.Id, len(*result.JSON200))
	}
	return nil
}

func isIn(state *State, want StateType) error {
	if state == nil || state.Type != want || state.Id == (openapi_types.UUID{}) {
		return fmt.Errorf("the run is in the state %+v, not %s", state, want)
	}
	return nil
}

// first gives the first value that there is: an operation may answer 201 or 200.
func first[T any](values ...*T) *T {
	for _, value := range values {
		if value != nil {
			return value
		}
	}
	return nil
}

func unexpected(what string, answer *http.Response, body []byte) error {
	return fmt.Errorf("%s: the server answered %s: %s", what, answer.Status, body)
}

package automations

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/orch-project/orch/pkg/request"
	"github.com/orch-project/orch/pkg/rpc"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/automations/engine"
	"github.com/orch-project/orch/services/orchestration/internal/automations/trigger"
	"github.com/orch-project/orch/services/orchestration/internal/resourceid"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

const (
	// maxTimeRange bounds the time range of an evaluation, and evaluationTime how long one may take.
	maxTimeRange   = 366 * 24 * time.Hour
	evaluationTime = 20 * time.Second
	// defaultFirings is the limit of firings when the request has none.
	defaultFirings = 200
)

// EvaluateAutomation returns the firings that an automation, stored or not, would have had over the stored events of a time
// range. It has no effects. A bound that ends it early is named in the result.
func (s *Service) EvaluateAutomation(ctx context.Context, r *orchv1.EvaluateAutomationRequest) (*orchv1.AutomationEvaluation, error) {
	info, err := request.Incoming(ctx)
	if err != nil {
		return nil, err
	}
	query := r.GetQuery()
	since, until := query.GetSince().AsTime(), s.automations.Store().Now()
	if query.GetUntil() != nil && query.GetUntil().AsTime().Before(until) {
		until = query.GetUntil().AsTime()
	}
	switch {
	case !since.Before(until):
		return nil, rpc.Invalid(rpc.BodyError("value_error", "Value error, since must be before until", "since"))
	case until.Sub(since) > maxTimeRange:
		return nil, rpc.Invalid(rpc.BodyError("value_error", "Value error, the time range must not exceed 366 days", "since"))
	}
	compiled, err := s.compiled(ctx, info.Workspace, query)
	if err != nil {
		return nil, err
	}
	limit := int(query.GetLimit())
	if limit == 0 {
		limit = defaultFirings
	}
	bounded, cancel := context.WithTimeout(ctx, s.evaluationTime)
	defer cancel()
	test, err := engine.NewBacktest(bounded, s.vocab, compiled, since, until, limit)
	if err != nil {
		return nil, err
	}
	filter := append(named(compiled), bson.E{Key: "occurred", Value: bson.D{{Key: "$gte", Value: since.UnixMicro()}, {Key: "$lt", Value: until.UnixMicro()}}})
	var failure error
	err = s.events.Each(bounded, info.Workspace, store.Query{Filter: filter, Sort: bson.D{{Key: "occurred", Value: 1}, {Key: "_id", Value: 1}}}, func(e *orchv1.ReceivedEvent) bool {
		more, err := test.Event(bounded, e)
		failure = err
		return more
	})
	if outOfTime := bounded.Err() != nil && ctx.Err() == nil; failure != nil || err != nil && !outOfTime {
		return nil, cmp.Or(failure, err)
	}
	result, err := test.Finish(bounded, until)
	if err != nil {
		return nil, err
	}
	return s.evaluation(result), nil
}

// compiled returns the automation of a query, stored or sent. It is enabled, also if the stored one is not.
func (s *Service) compiled(ctx context.Context, ws uuid.UUID, query interface {
	GetAutomationId() string
	GetAutomation() *orchv1.AutomationCreate
},
) (*trigger.Automation, error) {
	var automation *orchv1.Automation
	switch stored, sent := query.GetAutomationId() != "", query.GetAutomation() != nil; {
	case stored == sent:
		return nil, rpc.Invalid(rpc.BodyError("value_error", "Value error, either automation_id or automation is required"))
	case stored:
		id, err := resourceid.Parse(query.GetAutomationId())
		if err != nil {
			return nil, translate(err)
		}
		if automation, err = s.automations.Get(ctx, ws, id); err != nil {
			return nil, translate(err)
		}
	default:
		automation = s.created(query.GetAutomation())
		if err := s.prepare(ctx, automation); err != nil {
			return nil, err
		}
	}
	automation.Enabled = true
	return trigger.Compile(ws, automation, s.vocab)
}

// named is the part of a filter that selects the events whose names some trigger takes. It is empty if a trigger takes
// names by a pattern.
func named(a *trigger.Automation) bson.D {
	if len(a.Metrics) > 0 {
		return nil
	}
	var names bson.A
	for _, leaf := range a.Leaves {
		for _, name := range slices.Concat(leaf.Expect, leaf.Starts) {
			if strings.ContainsAny(name, "*?[") {
				return nil
			}
			names = append(names, name)
		}
		if len(leaf.Expect) == 0 {
			return nil
		}
	}
	return bson.D{{Key: "event", Value: bson.D{{Key: "$in", Value: names}}}}
}

func (s *Service) evaluation(result engine.BacktestResult) *orchv1.AutomationEvaluation {
	e := &orchv1.AutomationEvaluation{Events: result.Events, Matched: result.Matched, EvaluatedUntil: timestamppb.New(result.Until)}
	if result.StoppedBy != "" {
		e.StoppedBy = &result.StoppedBy
	}
	if result.Last != "" {
		e.LastEventId = &result.Last
	}
	for _, f := range result.Firings {
		e.Firings = append(e.Firings, s.evaluatedFiring(f.Node, f.Firing))
	}
	return e
}

func (s *Service) evaluatedFiring(n *trigger.Node, f *orchv1.AutomationFiring) *orchv1.AutomationEvaluationFiring {
	shown := &orchv1.AutomationEvaluationFiring{
		Triggered: timestamppb.New(time.UnixMicro(f.GetTriggered())), State: f.GetState(), Trigger: n.Path, Reason: n.Explain(f), Labels: f.GetLabels(),
	}
	if e := f.GetEvent(); e != nil {
		shown.EventId, shown.Event = &e.Id, &e.Event
		resource := e.GetResource().GetLabels()[s.vocab.ResourceID()]
		shown.ResourceId = &resource
	}
	for _, child := range f.GetChildren() {
		if id, err := uuid.Parse(child.GetTriggerId()); err == nil {
			shown.Firings = append(shown.Firings, s.evaluatedFiring(n.Automation.Node(id), child))
		}
	}
	return shown
}

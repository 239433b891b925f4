package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/orch-project/orch/pkg/broker"
	wire "github.com/orch-project/orch/pkg/events"
	"github.com/orch-project/orch/pkg/vocabulary"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/automations/trigger"
)

// Bounds are the limits of evaluation. 0 means no limit.
type Bounds struct {
	// FiringsPerMinute limits one automation, and AccountFiringsPerMinute all automations of an account.
	FiringsPerMinute, AccountFiringsPerMinute int
	// KeysPerAutomation limits the for_each keys that one automation counts at a time.
	KeysPerAutomation int
}

const (
	// maxChain is how many automations may fire because of each other, one after another.
	maxChain = 10
	// maxChained bounds the firings that one event causes through other firings. Its own firings are not counted. Without the
	// bound, a thousand automations on "*" would fire because of each other for days before their chains end.
	maxChained = 1000
)

// The limits as the event automation.limit-reached names them.
const (
	limitFirings        = "firings_per_minute"
	limitAccountFirings = "account_firings_per_minute"
	limitKeys           = "for_each_keys"
	limitChain          = "chain"
	limitChained        = "chain_firings"
	limitBacklog        = "backlog_events"
)

// limited is a limit that an automation, or without one the workspace, has reached in a window of time.
type limited struct {
	automation *orchv1.Automation
	limit      string
	value      int
	window     int64
}

// limitOf is a limit of an automation, a workspace or an account. Its event occurs once per window.
type limitOf struct {
	id    uuid.UUID
	limit string
}

// use makes a set of automations the one that is evaluated.
func (t *workspaceEvaluator) use(set *trigger.Set) {
	switch before, after := len(t.set.Automations()) > 0, len(set.Automations()) > 0; {
	case after && !before:
		t.engine.populated.Add(1)
	case before && !after:
		t.engine.populated.Add(-1)
	}
	t.set = set
	clear(t.matches)
	t.forgetLimits()
}

// forgetLimits drops what is remembered of automations that are gone.
func (t *workspaceEvaluator) forgetLimits() {
	maps.DeleteFunc(t.keys, func(id uuid.UUID, _ *keyCount) bool { return t.set.Automation(id) == nil })
	maps.DeleteFunc(t.windows, func(key limitOf, _ int64) bool {
		return key.id != t.account && key.id != t.ws && t.set.Automation(key.id) == nil
	})
}

// commit drops the firings beyond the limits, publishes which limits were reached, and commits the session.
func (t *workspaceEvaluator) commit(ctx context.Context, session *trigger.Session) error {
	now := t.engine.now()
	type counted struct {
		in *Counter
		id uuid.UUID
	}
	var all []counted
	count := func(in *Counter, id uuid.UUID) int {
		all = append(all, counted{in, id})
		return in.Add(id, now)
	}
	session.FilterFirings(func(f trigger.RootFiring) bool { return t.allow(ctx, f, now, count) })
	err := t.publishLimits(ctx, t.reached)
	if err == nil {
		t.reached = nil
		err = session.Commit(ctx)
	}
	if err != nil { // The same firings are counted again when the session is repeated.
		for _, one := range all {
			one.in.Undo(one.id, now)
		}
	}
	return err
}

// allow reports whether a firing is within the limits. A firing beyond them is counted and causes nothing.
func (t *workspaceEvaluator) allow(ctx context.Context, f trigger.RootFiring, now time.Time, count func(*Counter, uuid.UUID) int) bool {
	e, a := t.engine, f.Automation
	minute := now.Unix() / 60
	switch depth := ChainDepth(e.Vocabulary, f.Firing); {
	case depth > maxChain:
		return t.refuse(ctx, a.ID, limited{a.Message, limitChain, maxChain, minute})
	case depth > 1 && count(e.chained, chainRoot(e.Vocabulary, f.Firing)) > maxChained:
		return t.refuse(ctx, t.ws, limited{a.Message, limitChained, maxChained, minute})
	}
	if limit := e.Bounds.FiringsPerMinute; limit > 0 && count(e.firings, a.ID) > limit {
		return t.refuse(ctx, a.ID, limited{a.Message, limitFirings, limit, minute})
	}
	if limit := e.Bounds.AccountFiringsPerMinute; limit > 0 && t.account != uuid.Nil && count(e.firings, t.account) > limit {
		return t.refuse(ctx, t.account, limited{a.Message, limitAccountFirings, limit, minute})
	}
	return true
}

// refuse counts what a limit of an automation, a workspace or an account excludes. It returns false.
func (t *workspaceEvaluator) refuse(ctx context.Context, id uuid.UUID, l limited) bool {
	t.engine.Metrics.limited.WithLabelValues(l.limit).Inc()
	key := limitOf{id, l.limit}
	if last, published := t.windows[key]; !published || last != l.window {
		t.windows[key] = l.window
		t.engine.Log.WarnContext(ctx, "an automation reached a limit", "automation", l.automation.GetId(), "limit", l.limit, "value", l.value)
		t.reached = append(t.reached, l)
	}
	return false
}

func (t *workspaceEvaluator) publishLimits(ctx context.Context, reached []limited) error {
	var batch []broker.Event
	v, now := t.engine.Vocabulary, timestamppb.New(t.engine.now())
	for _, l := range reached {
		workspace, resource := t.ws, &orchv1.Resource{Labels: map[string]string{v.ResourceID(): v.Name("workspace", t.ws.String())}}
		if l.automation != nil {
			id, err := uuid.Parse(l.automation.GetId())
			if err != nil {
				continue
			}
			workspace, resource = id, AutomationResource(v, l.automation, false)
		}
		payload, err := json.Marshal(map[string]any{"limit": l.limit, "value": l.value})
		if err != nil {
			return fmt.Errorf("write the payload of a limit: %w", err)
		}
		sent, err := wire.ToBroker(v, &orchv1.ReceivedEvent{
			Id: uuid.NewSHA1(workspace, []byte(l.limit+" "+strconv.FormatInt(l.window, 10))).String(), Occurred: now, Received: now,
			Event: v.Name("automation", "limit-reached"), Resource: resource, Payload: payload,
		}, t.ws)
		if err != nil {
			return fmt.Errorf("publish a limit of automations: %w", err)
		}
		batch = append(batch, sent)
	}
	if len(batch) == 0 {
		return nil
	}
	if err := t.engine.Broker.Publisher().PublishAll(ctx, batch); err != nil {
		return fmt.Errorf("publish a limit of automations: %w", err)
	}
	return nil
}

// chainLabel is the label of an automation's event for the number of automations that fired one after another. rootLabel is
// the label for the id of the event that began the chain.
func chainLabel(v vocabulary.Vocabulary) string { return v.Name("automation", "chain-depth") }
func rootLabel(v vocabulary.Vocabulary) string  { return v.Name("automation", "chain-root") }

// ChainDepth is how many automations have fired one after another with a firing, itself included.
func ChainDepth(v vocabulary.Vocabulary, f *orchv1.AutomationFiring) int {
	depth := 0
	for _, child := range f.GetChildren() {
		depth = max(depth, ChainDepth(v, child)-1)
	}
	if ofAutomation(v, f.GetEvent().GetEvent()) {
		before, err := strconv.Atoi(f.GetEvent().GetResource().GetLabels()[chainLabel(v)])
		if err != nil {
			before = 1
		}
		depth = max(depth, before)
	}
	return depth + 1
}

// chainRoot is the event that began the chain of a firing, whose depth is more than 1.
func chainRoot(v vocabulary.Vocabulary, f *orchv1.AutomationFiring) uuid.UUID {
	e := f.GetEvent()
	for _, child := range f.GetChildren() {
		if !ofAutomation(v, e.GetEvent()) {
			e = child.GetEvent()
		}
	}
	text := e.GetResource().GetLabels()[rootLabel(v)]
	for _, related := range e.GetRelated() {
		if labels := related.GetLabels(); text == "" && labels[v.ResourceRole()] == "triggering-event" {
			text = strings.TrimPrefix(labels[v.ResourceID()], v.Name("event", ""))
		}
	}
	root, err := uuid.Parse(text)
	if err != nil { // The chain began with a silence.
		root, _ = uuid.Parse(e.GetId())
	}
	return root
}

// ofAutomation reports whether events of a name are those of firings and actions.
func ofAutomation(v vocabulary.Vocabulary, name string) bool {
	return name == v.Name("automation", "triggered") || name == v.Name("automation", "resolved") ||
		strings.HasPrefix(name, v.Name("automation", "action", ""))
}

// MarkChain labels the resource of an automation's event with the length and the beginning of the chain, if there is one.
func MarkChain(v vocabulary.Vocabulary, r *orchv1.Resource, f *orchv1.AutomationFiring) *orchv1.Resource {
	if depth := ChainDepth(v, f); depth > 1 {
		r.Labels[chainLabel(v)] = strconv.Itoa(depth)
		r.Labels[rootLabel(v)] = chainRoot(v, f).String()
	}
	return r
}

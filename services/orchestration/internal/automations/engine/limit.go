package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"

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

// maxChain is how many automations may fire because of each other, one after another.
const maxChain = 10

// The limits as the event automation.limit-reached names them.
const (
	limitFirings        = "firings_per_minute"
	limitAccountFirings = "account_firings_per_minute"
	limitKeys           = "for_each_keys"
	limitChain          = "chain"
)

// limited is a limit that an automation has reached. The window makes its event happen once per window.
type limited struct {
	automation *orchv1.Automation
	limit      string
	value      int
	window     int64
}

// commit drops the firings beyond the limits, publishes which limits were reached, and commits the session.
func (t *tenant) commit(ctx context.Context, session *trigger.Session) error {
	session.Keep(func(f trigger.Emission) bool { return t.allow(ctx, f) })
	if err := t.publishLimits(ctx, t.reached); err != nil {
		return err
	}
	t.reached = nil
	return session.Commit(ctx)
}

// allow reports whether a firing is within the limits. A firing beyond them is counted and causes nothing.
func (t *tenant) allow(ctx context.Context, f trigger.Emission) bool {
	e, a := t.engine, f.Automation
	now := e.now()
	minute := now.Unix() / 60
	if ChainDepth(e.Vocabulary, f.Firing) > maxChain {
		return t.refuse(ctx, limited{a.Message, limitChain, maxChain, minute}, true)
	}
	if limit := e.Bounds.FiringsPerMinute; limit > 0 {
		if n, window := e.firings.Add(a.ID, now); n > limit {
			return t.refuse(ctx, limited{a.Message, limitFirings, limit, window}, n == limit+1)
		}
	}
	if limit := e.Bounds.AccountFiringsPerMinute; limit > 0 && t.account != uuid.Nil {
		if n, window := e.firings.Add(t.account, now); n > limit {
			return t.refuse(ctx, limited{a.Message, limitAccountFirings, limit, window}, n == limit+1)
		}
	}
	return true
}

// refuse counts what a limit excludes. It returns false.
func (t *tenant) refuse(ctx context.Context, l limited, first bool) bool {
	t.engine.Metrics.limited.WithLabelValues(l.limit).Inc()
	if first {
		t.engine.Log.WarnContext(ctx, "an automation reached a limit", "automation", l.automation.GetId(), "limit", l.limit, "value", l.value)
		t.reached = append(t.reached, l)
	}
	return false
}

func (t *tenant) publishLimits(ctx context.Context, reached []limited) error {
	var batch []broker.Event
	for _, l := range reached {
		of, err := uuid.Parse(l.automation.GetId())
		if err != nil {
			continue
		}
		v, now := t.engine.Vocabulary, timestamppb.New(t.engine.now())
		payload, err := json.Marshal(map[string]any{"limit": l.limit, "value": l.value})
		if err != nil {
			return fmt.Errorf("write the payload of a limit: %w", err)
		}
		sent, err := wire.ToBroker(v, &orchv1.ReceivedEvent{
			Id: uuid.NewSHA1(of, []byte(l.limit+" "+strconv.FormatInt(l.window, 10))).String(), Occurred: now, Received: now,
			Event: v.Name("automation", "limit-reached"), Resource: AutomationResource(v, l.automation, false), Payload: payload,
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

// chainLabel is the label of an automation's event for the number of automations that fired one after another.
func chainLabel(v vocabulary.Vocabulary) string { return v.Name("automation", "chain-depth") }

// ChainDepth is how many automations have fired one after another with a firing, itself included.
func ChainDepth(v vocabulary.Vocabulary, f *orchv1.AutomationFiring) int {
	depth := 0
	for _, child := range f.GetChildren() {
		depth = max(depth, ChainDepth(v, child)-1)
	}
	labels := f.GetEvent().GetResource().GetLabels()
	verb := f.GetEvent().GetEvent()
	if verb == v.Name("automation", "triggered") || verb == v.Name("automation", "resolved") || isActionEvent(v, verb) {
		before, err := strconv.Atoi(labels[chainLabel(v)])
		if err != nil {
			before = 1
		}
		depth = max(depth, before)
	}
	return depth + 1
}

func isActionEvent(v vocabulary.Vocabulary, name string) bool {
	prefix := v.Name("automation", "action", "")
	return len(name) > len(prefix) && name[:len(prefix)] == prefix
}

// MarkChain labels the resource of an automation's event with the length of the chain, if there is one.
func MarkChain(v vocabulary.Vocabulary, r *orchv1.Resource, f *orchv1.AutomationFiring) *orchv1.Resource {
	if depth := ChainDepth(v, f); depth > 1 {
		r.Labels[chainLabel(v)] = strconv.Itoa(depth)
	}
	return r
}

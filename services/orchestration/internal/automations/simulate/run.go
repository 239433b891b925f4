package simulate

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/orch-project/orch/pkg/restjson"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/automations"
	"github.com/orch-project/orch/services/orchestration/internal/automations/trigger"
)

// maxSteps bounds a case.
const maxSteps = 100_000

// run is a case under way.
type run struct {
	ctx        context.Context
	checker    *automations.Checker
	workspace  uuid.UUID
	automation *orchv1.Automation // nil once deleted.
	set        *trigger.Set
	memory     *trigger.Memory
	backend    trigger.Backend // The memory, or what lies before it.
	order      *trigger.Order
	step       int
	firings    []Firing
}

// Run evaluates the case. The error says what is wrong with it.
func (c *Case) Run() ([]Firing, error) {
	if len(c.Steps) > maxSteps {
		return nil, fmt.Errorf("read a case: %d steps are more than %d", len(c.Steps), maxSteps)
	}
	r, err := c.begin()
	if err != nil {
		return nil, err
	}
	for i := range c.Steps {
		r.step = i
		if err := r.take(&c.Steps[i]); err != nil {
			return nil, fmt.Errorf("step %d: %w", i, err)
		}
	}
	return r.firings, nil
}

func (c *Case) begin() (*run, error) {
	r := &run{
		ctx: context.Background(), checker: automations.NewChecker(vocabularyOf(c.Automation)), workspace: uuid.New(),
		memory: trigger.NewMemory(), order: trigger.NewOrder(nil), firings: []Firing{},
	}
	r.backend = r.memory
	if err := r.create(c.Automation); err != nil {
		return nil, fmt.Errorf("read the automation: %w", err)
	}
	return r, nil
}

func (r *run) create(text []byte) error {
	create := &orchv1.AutomationCreate{}
	if err := restjson.Unmarshal(text, create); err != nil {
		return err
	}
	return r.use(&orchv1.Automation{
		Id: uuid.NewString(), Name: create.GetName(), Enabled: create.GetEnabled(), Trigger: create.GetTrigger(),
		Actions: create.GetActions(), ActionsOnTrigger: create.GetActionsOnTrigger(), ActionsOnResolve: create.GetActionsOnResolve(),
	})
}

// use makes an automation with new ids for its triggers the one that is evaluated.
func (r *run) use(a *orchv1.Automation) error {
	if err := r.checker.Prepare(a); err != nil {
		return err
	}
	return r.compile(a)
}

func (r *run) compile(a *orchv1.Automation) error {
	compiled, err := trigger.Compile(r.workspace, a, r.checker.Vocabulary())
	if err != nil {
		return err
	}
	r.automation, r.set = a, trigger.NewSet(compiled)
	return nil
}

func (r *run) take(s *Step) error {
	switch {
	case s.Event != nil:
		return r.event(s)
	case s.Tick:
		return r.tick(s.At)
	case s.Enabled != nil && r.automation != nil:
		next := proto.CloneOf(r.automation)
		next.Enabled = *s.Enabled
		return r.compile(next)
	case s.Update != nil && r.automation != nil:
		next := proto.CloneOf(r.automation)
		if err := updated(s.Update, next); err != nil {
			return err
		}
		return r.use(next)
	case s.Delete:
		r.automation, r.set = nil, trigger.NewSet()
	}
	return nil // A restart loses nothing: what is in memory here is stored by the server.
}

// updated replaces the fields of an automation that a text has.
func updated(text []byte, a *orchv1.Automation) error {
	u := &orchv1.AutomationUpdate{}
	if err := restjson.Unmarshal(text, u); err != nil {
		return err
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(text, &members); err != nil {
		return err
	}
	a.Name, a.Trigger, a.Actions = u.GetName(), u.GetTrigger(), u.GetActions()
	if members["enabled"] != nil {
		a.Enabled = u.GetEnabled()
	}
	return nil
}

func (r *run) event(s *Step) error {
	e, err := readEvent(s.Event)
	if err != nil {
		return err
	}
	received := s.At
	if s.Received != nil {
		received = *s.Received
	}
	e.Received = timestamppb.New(received)
	return r.evaluate(r.order.Admit(e, received, s.At), s.At, nil)
}

func (r *run) tick(now time.Time) error {
	if err := r.evaluate(r.order.Expire(now), now, nil); err != nil {
		return err
	}
	return r.evaluate(nil, now, r.set.Proactive())
}

// evaluate applies events, and the clock to triggers.
func (r *run) evaluate(events []*orchv1.ReceivedEvent, now time.Time, due []*trigger.Node) error {
	session := trigger.NewSession(r.backend, now)
	for _, e := range events {
		taking, _, err := r.set.Takers(e)
		if err != nil {
			return err
		}
		for _, n := range taking {
			if err := session.Event(r.ctx, n, e); err != nil {
				return err
			}
		}
	}
	for _, n := range due {
		open := r.memory.Open(n)
		slices.SortFunc(open, func(a, b *orchv1.AutomationBucket) int { return slices.Compare(a.GetKey(), b.GetKey()) })
		if len(open) == 0 && len(n.KeyLabels) == 0 && !n.After {
			open = append(open, &orchv1.AutomationBucket{})
		}
		for _, b := range open {
			if err := session.Tick(r.ctx, n, b.GetKey()); err != nil {
				return err
			}
		}
	}
	if err := session.Commit(r.ctx); err != nil {
		return err
	}
	r.order.Duplicates(session.Duplicates())
	for _, f := range session.Fired() {
		r.firings = append(r.firings, r.shown(f))
	}
	return nil
}

// shown is a firing as a case shows it.
func (r *run) shown(f trigger.Fired) Firing {
	shown := Firing{AtStep: r.step, Trigger: f.Node.Path, State: "Triggered", Event: eventID(f.Firing), Labels: f.Firing.GetLabels()}
	if len(f.Node.Children) == 0 {
		count := f.Firing.GetCount()
		shown.Count = &count
		shown.Window = []string{moment(f.Firing.GetStart()), moment(f.Firing.GetEnd())}
		return shown
	}
	for _, child := range f.Firing.GetChildren() {
		id, _ := uuid.Parse(child.GetTriggerId())
		shown.Firings = append(shown.Firings, ChildFiring{f.Node.Automation.Node(id).Path, eventID(child)})
	}
	return shown
}

func eventID(f *orchv1.AutomationFiring) *string {
	if f.GetEvent() == nil {
		return nil
	}
	id := f.GetEvent().GetId()
	return &id
}

func moment(micros int64) string { return time.UnixMicro(micros).UTC().Format(time.RFC3339Nano) }

func readEvent(text []byte) (*orchv1.ReceivedEvent, error) {
	var e event
	if err := json.Unmarshal(text, &e); err != nil {
		return nil, fmt.Errorf("read the event: %w", err)
	}
	read := &orchv1.ReceivedEvent{
		Id: e.ID, Event: e.Event, Resource: &orchv1.Resource{Labels: e.Resource}, Payload: e.Payload, Follows: e.Follows,
	}
	if e.Occurred != nil {
		var occurred string
		if err := json.Unmarshal(e.Occurred, &occurred); err != nil {
			return nil, fmt.Errorf("read when the event occurred: %w", err)
		}
		seconds, nanos, reason := restjson.ParseTimestamp(occurred)
		if reason != "" {
			return nil, fmt.Errorf("read when the event occurred: %s", reason)
		}
		read.Occurred = &timestamppb.Timestamp{Seconds: seconds, Nanos: nanos}
	}
	for _, labels := range e.Related {
		read.Related = append(read.Related, &orchv1.RelatedResource{Labels: labels})
	}
	if e.ID == "" {
		return read, nil
	}
	id, reason := restjson.ParseUUID(e.ID)
	if reason != "" {
		return nil, fmt.Errorf("read the event's id: %s", reason)
	}
	read.Id = id
	return read, nil
}

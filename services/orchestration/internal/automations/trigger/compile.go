package trigger

import (
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/orch-project/orch/pkg/vocabulary"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/automations/match"
)

// maxDepth bounds how deep triggers nest.
const maxDepth = 32

// Automation is the compiled form of an automation's triggers. It is immutable.
type Automation struct {
	ID        uuid.UUID
	Workspace uuid.UUID
	// Message is the automation as it is stored; its owner must not change it.
	Message *orchv1.Automation
	Root    *Node
	// Leaves are the event triggers, in the order in which they stand in the automation.
	Leaves []*Node
	// Metrics are the metric triggers.
	Metrics []*Node

	nodes map[uuid.UUID]*Node
}

// Node is one trigger of an automation.
type Node struct {
	ID         uuid.UUID
	Path       string // "root.0.1".
	Automation *Automation
	Parent     *Node
	Index      int // Among the parent's children.
	Children   []*Node

	// KeyLabels are the labels that distinguish firings. A parent distinguishes its children's firings by the labels
	// that all of them have.
	KeyLabels []string

	// Event triggers.
	Filter    *match.Filter
	Proactive bool
	After     bool
	Threshold int64
	// Expect and Starts are the names of events that count, and of those that begin a window.
	Expect, Starts []string
	forEach        []string

	// Within is in microseconds.
	Within int64

	// Compound triggers and sequences.
	need      int
	sequence  bool
	unlimited bool

	// Metric is set for metric triggers alone.
	Metric *orchv1.MetricTrigger

	depth int
}

// Compile compiles an automation whose triggers have ids.
func Compile(ws uuid.UUID, a *orchv1.Automation, words vocabulary.Vocabulary) (*Automation, error) {
	id, err := uuid.Parse(a.GetId())
	if err != nil {
		return nil, fmt.Errorf("compile an automation: parse its id: %w", err)
	}
	compiled := &Automation{ID: id, Workspace: ws, Message: a, nodes: map[uuid.UUID]*Node{}}
	if compiled.Root, err = compiled.compile(a.GetTrigger(), nil, 0, words); err != nil {
		return nil, fmt.Errorf("compile automation %s: %w", id, err)
	}
	return compiled, nil
}

// Enabled reports whether the automation is evaluated.
func (a *Automation) Enabled() bool { return a.Message.GetEnabled() }

// Node returns the trigger of an id, nil if the automation has none.
func (a *Automation) Node(id uuid.UUID) *Node { return a.nodes[id] }

func (a *Automation) compile(t *orchv1.Trigger, parent *Node, index int, words vocabulary.Vocabulary) (*Node, error) {
	n := &Node{Path: "root", Automation: a, Parent: parent, Index: index}
	if parent != nil {
		n.Path = fmt.Sprintf("%s.%d", parent.Path, index)
		n.depth = parent.depth + 1
	}
	if n.depth > maxDepth {
		return nil, fmt.Errorf("triggers nest deeper than %d", maxDepth)
	}
	var id string
	var err error
	switch kind := t.GetKind().(type) {
	case *orchv1.Trigger_Event:
		id = kind.Event.GetId()
		n.compileEvent(kind.Event)
		a.Leaves = append(a.Leaves, n)
	case *orchv1.Trigger_Compound:
		id = kind.Compound.GetId()
		n.setWithin(kind.Compound.Within != nil, kind.Compound.GetWithin().AsDuration())
		if err = n.compileChildren(kind.Compound.GetTriggers(), words); err == nil {
			n.need = needed(kind.Compound.GetRequire(), len(n.Children))
		}
	case *orchv1.Trigger_Sequence:
		id, n.sequence = kind.Sequence.GetId(), true
		n.setWithin(kind.Sequence.Within != nil, kind.Sequence.GetWithin().AsDuration())
		err = n.compileChildren(kind.Sequence.GetTriggers(), words)
		n.need = len(n.Children)
	case *orchv1.Trigger_Metric:
		id, n.Metric = kind.Metric.GetId(), kind.Metric
		n.Filter = match.NewResourceFilter(kind.Metric.GetMatch(), kind.Metric.GetMatchRelated())
		a.Metrics = append(a.Metrics, n)
	default:
		return nil, fmt.Errorf("trigger %s has no kind", n.Path)
	}
	if err != nil {
		return nil, err
	}
	if n.ID, err = uuid.Parse(id); err != nil {
		return nil, fmt.Errorf("parse the id of trigger %s: %w", n.Path, err)
	}
	a.nodes[n.ID] = n
	return n, nil
}

func (n *Node) compileEvent(e *orchv1.EventTrigger) {
	n.Filter = match.NewFilter(e)
	n.Proactive = e.GetPosture() == orchv1.Posture_POSTURE_PROACTIVE
	n.After = len(e.GetAfter()) > 0
	n.Threshold = e.GetThreshold()
	n.Expect, n.Starts = e.GetExpect(), e.GetAfter()
	n.Within = e.GetWithin().AsDuration().Microseconds()
	n.forEach = slices.Clone(e.GetForEach())
	slices.Sort(n.forEach)
	n.forEach = slices.Compact(n.forEach)
	n.KeyLabels = n.forEach
}

func (n *Node) setWithin(limited bool, within time.Duration) {
	n.unlimited, n.Within = !limited, within.Microseconds()
}

func (n *Node) compileChildren(triggers []*orchv1.Trigger, words vocabulary.Vocabulary) error {
	for i, t := range triggers {
		child, err := n.Automation.compile(t, n, i, words)
		if err != nil {
			return err
		}
		n.Children = append(n.Children, child)
		if i == 0 {
			n.KeyLabels = slices.Clone(child.KeyLabels)
		} else {
			n.KeyLabels = slices.DeleteFunc(n.KeyLabels, func(label string) bool { return !slices.Contains(child.KeyLabels, label) })
		}
	}
	return nil
}

// needed is how many children must fire.
func needed(r *orchv1.Requirement, children int) int {
	switch kind := r.GetKind().(type) {
	case *orchv1.Requirement_Count:
		return int(kind.Count)
	case *orchv1.Requirement_Word:
		if kind.Word == orchv1.RequirementWord_REQUIREMENT_WORD_ANY {
			return 1
		}
	}
	return children
}

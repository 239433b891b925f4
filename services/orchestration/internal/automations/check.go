package automations

import (
	"context"
	"fmt"
	"slices"

	"github.com/google/uuid"
	"google.golang.org/protobuf/proto"

	"github.com/orch-project/orch/pkg/rpc"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/query"
)

// maxAutomation bounds an automation in bytes: the evaluation has all automations of a workspace in memory.
const maxAutomation = 1 << 20

// Prepare gives an automation's triggers new ids, fills in what was not sent, and notes what it relates to. The error is
// a 422 that names all field errors.
func (s *Checker) Prepare(a *orchv1.Automation) error {
	found := &fieldErrors{}
	if n := proto.Size(a); n > maxAutomation {
		found.add(body, "The automation has %d bytes, the limit is %d", n, maxAutomation)
		return rpc.Invalid(found.list...)
	}
	prepareTrigger(a.GetTrigger(), s.newID, body.key("trigger"), found)
	s.checkLabels(a.GetTrigger(), body.key("trigger"), found, 0)
	for _, list := range actionLists(a) {
		for i, action := range list.actions {
			s.prepareAction(action, body.key(list.field).index(i), found)
		}
	}
	s.checkLoop(a, found)
	if len(found.list) > 0 {
		return rpc.Invalid(found.list...)
	}
	a.RelatedResources = s.relates(a)
	return nil
}

// maxAutomationsBytes bounds all automations of a workspace: the evaluation has them in memory, compiled.
const maxAutomationsBytes = 32 << 20

// checkTotal refuses further bytes of automations beyond the bound of their workspace. Concurrent requests may exceed it together. The error
// is a 422.
func (s *Service) checkTotal(ctx context.Context, ws uuid.UUID, more int) error {
	if more <= 0 {
		return nil
	}
	stored, err := s.automations.Store().Bytes(ctx, query.Automation, ws, maxAutomationsBytes)
	if err != nil {
		return fmt.Errorf("measure the automations of a workspace: %w", err)
	}
	if stored+int64(more) <= maxAutomationsBytes {
		return nil
	}
	found := &fieldErrors{}
	found.add(body, "The automations of the workspace would have more than %d bytes", maxAutomationsBytes)
	return rpc.Invalid(found.list...)
}

// checkSwitch checks an automation that is switched on as it is. The error is a 422.
func (s *Checker) checkSwitch(a *orchv1.Automation) error {
	found := &fieldErrors{}
	s.checkLoop(a, found)
	if len(found.list) > 0 {
		return rpc.Invalid(found.list...)
	}
	return nil
}

// relates are the resources that an automation belongs to or runs.
func (s *Checker) relates(a *orchv1.Automation) []string {
	var resources []string
	if a.GetOwnerResource() != "" {
		resources = append(resources, a.GetOwnerResource())
	}
	for _, action := range a.GetActions() {
		if run := action.GetRunDeployment(); run.GetDeploymentId() != "" {
			if id := s.vocab.Name("deployment", run.GetDeploymentId()); !slices.Contains(resources, id) {
				resources = append(resources, id)
			}
		}
	}
	return resources
}

// checkLoop refuses automations that would start runs whose states fire them again, without end. Only those that react
// to the states that every run of a deployment goes through can do that.
func (s *Checker) checkLoop(a *orchv1.Automation, found *fieldErrors) {
	e := a.GetTrigger().GetEvent()
	if !a.GetEnabled() || e == nil || e.GetPosture() != orchv1.Posture_POSTURE_REACTIVE {
		return
	}
	everyRun := slices.ContainsFunc([]string{"Scheduled", "Pending", "Running", "*"}, func(state string) bool {
		return slices.Contains(e.GetExpect(), s.vocab.Name("flow-run", state))
	})
	if !everyRun {
		return
	}
	for _, action := range a.GetActions() {
		run := action.GetRunDeployment()
		switch {
		case run == nil:
		case run.GetSource() == orchv1.ActionSource_ACTION_SOURCE_INFERRED:
			found.add(body, "Running an inferred deployment from a flow run state change event will lead to an infinite loop of flow runs. "+
				"Please choose a specific deployment and add additional filtering labels to the match or match_related for this automation's trigger.")
			return
		case s.everyRun(e.GetMatch()) && slices.ContainsFunc(specifications(e.GetMatchRelated()), s.everyRun):
			found.add(body, "Running a selected deployment from a flow run state change event may lead to an infinite loop of flow runs. "+
				"Please include additional filtering labels on either match or match_related to narrow down which flow runs will trigger this automation.")
			return
		}
	}
}

// everyRun tells whether a specification matches every flow run.
func (s *Checker) everyRun(spec *orchv1.ResourceSpecification) bool {
	labels := spec.GetLabels()
	if len(labels) == 0 {
		return true
	}
	id := labels[s.vocab.ResourceID()]
	if len(labels) > 1 || id == nil {
		return false
	}
	values := id.GetList().GetValues()
	if text, ok := id.GetKind().(*orchv1.StringOrList_StringValue); ok {
		values = []string{text.StringValue}
	}
	return slices.Contains(values, s.vocab.Name("flow-run", "*"))
}

func specifications(m *orchv1.RelatedMatch) []*orchv1.ResourceSpecification {
	if one := m.GetOne(); one != nil {
		return []*orchv1.ResourceSpecification{one}
	}
	return m.GetAll().GetValues()
}

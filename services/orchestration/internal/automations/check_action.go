package automations

import (
	"fmt"

	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/orch-project/orch/pkg/vocabulary"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/jsontree"
)

// prepareAction fills in what was not sent of an action, and collects what is wrong with it.
func (s *Service) prepareAction(a *orchv1.Action, at place, found *faults) {
	switch kind := a.GetKind().(type) {
	case *orchv1.Action_RunDeployment:
		s.prepareRun(kind.RunDeployment, at, found)
	case *orchv1.Action_PauseDeployment:
		selects(kind.PauseDeployment, "deployment_id", kind.PauseDeployment.GetDeploymentId(), at, found)
	case *orchv1.Action_ResumeDeployment:
		selects(kind.ResumeDeployment, "deployment_id", kind.ResumeDeployment.GetDeploymentId(), at, found)
	case *orchv1.Action_PauseWorkQueue:
		selects(kind.PauseWorkQueue, "work_queue_id", kind.PauseWorkQueue.GetWorkQueueId(), at, found)
	case *orchv1.Action_ResumeWorkQueue:
		selects(kind.ResumeWorkQueue, "work_queue_id", kind.ResumeWorkQueue.GetWorkQueueId(), at, found)
	case *orchv1.Action_PauseWorkPool:
		selects(kind.PauseWorkPool, "work_pool_id", kind.PauseWorkPool.GetWorkPoolId(), at, found)
	case *orchv1.Action_ResumeWorkPool:
		selects(kind.ResumeWorkPool, "work_pool_id", kind.ResumeWorkPool.GetWorkPoolId(), at, found)
	case *orchv1.Action_PauseAutomation:
		selects(kind.PauseAutomation, "automation_id", kind.PauseAutomation.GetAutomationId(), at, found)
	case *orchv1.Action_ResumeAutomation:
		selects(kind.ResumeAutomation, "automation_id", kind.ResumeAutomation.GetAutomationId(), at, found)
	case *orchv1.Action_SendNotification:
		s.checkTemplate("subject", kind.SendNotification.GetSubject(), at, found)
		s.checkTemplate("body", kind.SendNotification.GetBody(), at, found)
	case *orchv1.Action_CallWebhook:
		s.checkTemplate("payload", kind.CallWebhook.GetPayload(), at, found)
	}
}

// selects checks that an action names what it acts on if it says so, and only then.
func selects(action interface{ GetSource() orchv1.ActionSource }, field, id string, at place, found *faults) {
	selected := action.GetSource() == orchv1.ActionSource_ACTION_SOURCE_SELECTED
	switch {
	case selected && id == "":
		found.add(at, "%s is required", field)
	case !selected && id != "":
		found.add(at, "%s is not allowed", field)
	}
}

func (s *Service) prepareRun(run *orchv1.RunDeployment, at place, found *faults) {
	selects(run, "deployment_id", run.GetDeploymentId(), at, found)
	if run.GetScheduleAfter() == nil {
		run.ScheduleAfter = durationpb.New(0)
	}
	if run.GetScheduleAfter().AsDuration() < 0 {
		found.add(at.key("schedule_after"), "schedule_after must be non-negative")
	}
	if run.Parameters == nil {
		return
	}
	parameters, err := jsontree.ParseObject(run.GetParameters())
	if err != nil {
		found.add(at.key("parameters"), "%v", err)
		return
	}
	s.checkParameters(parameters, "", func(where, what string) {
		found.add(at.key("parameters"), "Invalid parameters: \n%s: %s", where, what)
	})
}

func (s *Service) checkTemplate(field, template string, at place, found *faults) {
	if _, err := s.templates.Compile(template); err != nil {
		found.add(at.key(field), "'%s' is not a valid template: %v", field, err)
	}
}

// checkParameters looks through the values of parameters for templates, and for markers that stand for values. A text in
// a list is no template; one in an object is, if it looks like one.
func (s *Service) checkParameters(v jsontree.Value, where string, tell func(where, what string)) {
	switch v := v.(type) {
	case jsontree.List:
		for i, item := range v {
			if _, text := item.(string); !text {
				s.checkParameters(item, fmt.Sprintf("%s[%d]", where, i), tell)
			}
		}
	case *jsontree.Object:
		if where != "" && s.checkMarker(v, where, tell) {
			return
		}
		for _, key := range v.Keys() {
			below := key
			if where != "" {
				below = where + "." + key
			}
			value, _ := v.Get(key)
			s.checkParameters(value, below, tell)
		}
	case string:
		if isTemplate(v) {
			s.tellTemplate(v, where, tell)
		}
	}
}

// checkMarker checks a value that stands for another one, and tells whether it is such a value. Of the kinds of markers,
// those for JSON and for templates can be checked before they are used.
func (s *Service) checkMarker(v *jsontree.Object, where string, tell func(where, what string)) bool {
	for _, words := range []vocabulary.Vocabulary{vocabulary.Orch, vocabulary.Prefect} {
		switch v.Text(words.KindKey()) {
		case "":
			continue
		case "jinja":
			s.tellTemplate(v.Text("template"), where, tell)
		case "json":
			if text := v.Text("value"); text != "" {
				if _, err := jsontree.Parse([]byte(text)); err != nil {
					tell(where, "Invalid JSON: "+err.Error())
				}
			}
		}
		return true
	}
	return false
}

func (s *Service) tellTemplate(template, where string, tell func(where, what string)) {
	if _, err := s.templates.Compile(template); err != nil {
		tell(where, "Invalid jinja: "+err.Error())
	}
}

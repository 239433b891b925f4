package automations

import (
	"fmt"
	"net/mail"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/orch-project/orch/pkg/jsontree"
	"github.com/orch-project/orch/pkg/vocabulary"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// prepareAction fills in what was not sent of an action, and collects what is wrong with it.
func (s *Checker) prepareAction(a *orchv1.Action, at fieldPath, found *fieldErrors) {
	checkSelection(a.ProtoReflect(), at, found)
	switch kind := a.GetKind().(type) {
	case *orchv1.Action_RunDeployment:
		s.prepareRun(kind.RunDeployment, at, found)
	case *orchv1.Action_SendNotification:
		s.checkTemplate("subject", kind.SendNotification.GetSubject(), at, found)
		s.checkTemplate("body", kind.SendNotification.GetBody(), at, found)
	case *orchv1.Action_SendEmailNotification:
		s.checkEmail(kind.SendEmailNotification, at, found)
	case *orchv1.Action_CallWebhook:
		s.checkTemplate("payload", kind.CallWebhook.GetPayload(), at, found)
	}
}

// checkSelection checks that an action which has a source names what it acts on if the source says so, and only then.
// It acts on the one id that it has.
func checkSelection(action protoreflect.Message, at fieldPath, found *fieldErrors) {
	set := action.WhichOneof(action.Descriptor().Oneofs().ByName("kind"))
	if set == nil {
		return
	}
	kind := action.Get(set).Message()
	fields := kind.Descriptor().Fields()
	source := fields.ByName("source")
	if source == nil {
		return
	}
	selected := orchv1.ActionSource(kind.Get(source).Enum()) == orchv1.ActionSource_ACTION_SOURCE_SELECTED
	for i := range fields.Len() {
		id := fields.Get(i)
		if !strings.HasSuffix(string(id.Name()), "_id") {
			continue
		}
		switch named := kind.Get(id).String() != ""; {
		case selected && !named:
			found.add(at, "%s is required", id.Name())
		case !selected && named:
			found.add(at, "%s is not allowed", id.Name())
		}
	}
}

func (s *Checker) checkEmail(action *orchv1.SendEmailNotification, at fieldPath, found *fieldErrors) {
	for i, address := range action.GetEmails() {
		if _, err := mail.ParseAddress(address); err != nil {
			found.add(at.key("emails").index(i), "%q is not an email address", address)
		}
	}
	s.checkTemplate("subject", action.GetSubject(), at, found)
	s.checkTemplate("body", action.GetBody(), at, found)
}

func (s *Checker) prepareRun(run *orchv1.RunDeployment, at fieldPath, found *fieldErrors) {
	if run.GetScheduleAfter() == nil {
		run.ScheduleAfter = durationpb.New(0)
	}
	if run.GetScheduleAfter().AsDuration() < 0 {
		found.add(at.key("schedule_after"), "schedule_after must be non-negative")
	}
	if err := s.order.Check(nil, run.GetJobVariables()); err != nil {
		found.add(at.key("job_variables"), "%v", err)
	}
	s.prepareKeys(run, at, found)
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

func (s *Checker) checkTemplate(field, template string, at fieldPath, found *fieldErrors) {
	if _, err := s.templates.Compile(template); err != nil {
		found.add(at.key(field), "'%s' is not a valid template: %s", field, templateError(err))
	}
}

// checkParameters looks through the values of parameters for templates, and for markers that stand for values. A text in
// a list is no template; one in an object is, if it looks like one.
func (s *Checker) checkParameters(v jsontree.Value, where string, tell func(where, what string)) {
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
		for _, m := range v.Members() {
			below := m.Key
			if where != "" {
				below = where + "." + m.Key
			}
			s.checkParameters(m.Value, below, tell)
		}
	case string:
		if isTemplate(v) {
			s.tellTemplate(v, where, tell)
		}
	}
}

// checkMarker checks a value that stands for another one, and tells whether it is such a value. Of the kinds of markers,
// those for JSON and for templates can be checked before they are used.
func (s *Checker) checkMarker(v *jsontree.Object, where string, tell func(where, what string)) bool {
	for _, vocab := range []vocabulary.Vocabulary{vocabulary.Orch, vocabulary.Prefect} {
		switch v.Text(vocab.KindKey()) {
		case "":
			continue
		case "jinja":
			s.tellTemplate(v.Text("template"), where, tell)
		case "json":
			if text := v.Text("value"); text != "" {
				if _, err := jsontree.Parse(text); err != nil {
					tell(where, "Invalid JSON: "+err.Error())
				}
			}
		}
		return true
	}
	return false
}

func (s *Checker) tellTemplate(template, where string, tell func(where, what string)) {
	if _, err := s.templates.Compile(template); err != nil {
		tell(where, "Invalid jinja: "+templateError(err))
	}
}

package web

import (
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/orch-project/orch/pkg/rpc"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

func TestAutomationEditor(t *testing.T) {
	t.Parallel()
	const edit = "/automations/automation/" + someID + "/edit"
	fields := url.Values{"action": {"automation-edit"}, "p.name": {"mine"}, "p.trigger/type": {`"event"`}, "p.trigger/posture": {`"Reactive"`}, "p.trigger/expect": {"a.b"}, "p.actions/#": {"0"}}
	with := func(name, value string) url.Values {
		form := url.Values{name: {value}}
		for key, values := range fields {
			if _, set := form[key]; !set {
				form[key] = values
			}
		}
		return form
	}
	const definition = `{"name": "mine", "trigger": {"type": "event", "posture": "Reactive"}, "actions": []}`
	for _, c := range []struct {
		name   string
		form   url.Values
		status int
		page   string
		saved  bool
	}{
		{name: "the form", form: fields, status: 303, saved: true},
		{name: "JSON", form: url.Values{"action": {"automation-edit"}, "json": {definition}}, status: 303, saved: true},
		{name: "a field that does not parse", form: with("p.trigger/threshold", "many"), status: 422, page: `value="many" inputmode="decimal" aria-invalid="true"`},
		{name: "a field that does not parse stays with its form", form: with("show-json", "yes"), status: 200, page: `&quot;name&quot;: &quot;mine&quot;`},
		{name: "a trial that is refused", form: with("try", "yes"), status: 422, page: `id="p.trigger/within-error">too short`},
		{name: "one more action", form: with("add-entry", "p.actions"), status: 200, page: `name="p.actions/0/type"`},
		{name: "changed meanwhile", form: with("updated", "2020-01-01T00:00:00Z"), status: 409, page: "name is now &quot;retry"},
		{name: "changed meanwhile, as JSON", form: url.Values{"action": {"automation-edit"}, "updated": {"2020-01-01T00:00:00Z"}, "json": {definition}}, status: 409, page: "&quot;mine&quot;"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			all := objectAnswers()
			all[orchv1.AutomationService_UpdateAutomation_FullMethodName] = &emptypb.Empty{}
			all[orchv1.AutomationService_EvaluateAutomation_FullMethodName] = rpc.Invalid(rpc.BodyError("value_error", "too short", "automation", "trigger", "within"))
			s := &stub{answers: all}
			got := visit(t, siteWith(t, s, nil), edit, c.form)
			require.Equal(t, c.status, got.Code, got.Body.String())
			require.Contains(t, got.Body.String(), c.page)
			update, saved := s.last[orchv1.AutomationService_UpdateAutomation_FullMethodName].(*orchv1.UpdateAutomationRequest)
			require.Equal(t, c.saved, saved)
			require.True(t, !saved || update.GetAutomation().GetName() == "mine")
		})
	}
}

package orchestration_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/orch-project/orch/pkg/restjson"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// tryAutomationText creates an automation from JSON. It returns the HTTP status, and what the response says.
func (d *domain) tryAutomationText(text string) (code int, says string) {
	d.t.Helper()
	create := &orchv1.AutomationCreate{}
	if err := restjson.Unmarshal([]byte(text), create); err != nil {
		return http.StatusUnprocessableEntity, err.Error()
	}
	_, _, err := try[*orchv1.Automation](d, orchv1.AutomationService_CreateAutomation_FullMethodName, &orchv1.CreateAutomationRequest{Automation: create})
	if err == nil {
		return http.StatusCreated, ""
	}
	code, says = status(err)
	return code, says + err.Error()
}

// firingsOf waits until an event sent after all others is evaluated, and returns how often an automation of a name has fired.
func (d *domain) firingsOf(name string) (n int) {
	d.t.Helper()
	last := uuid.NewString()
	d.automation(fmt.Sprintf(`{"name":%q,"trigger":{"type":"event","posture":"Reactive","expect":[%q]},"actions":[]}`, last, last))
	d.emit(last, "all")
	eventually(d.t, func() bool {
		var names []string
		for _, e := range d.eventually("orch.automation.triggered", 1) {
			names = append(names, e.GetResource().GetLabels()["orch.resource.name"])
		}
		n = len(slices.DeleteFunc(slices.Clone(names), func(fired string) bool { return fired != name }))
		return slices.Contains(names, last)
	}, "the last event")
	return n
}

// Triggers that contradict themselves, and extreme numbers, are refused with a reason, or stored and do what they say.
func TestExtremeTriggers(t *testing.T) {
	t.Parallel()
	d := newDomain(t)
	event := func(more string) string {
		return `{"type":"event","posture":"Reactive","expect":["go"]` + more + `}`
	}
	nested := func(n int) string {
		return strings.Repeat(`{"type":"compound","require":"all","within":10,"triggers":[`, n) + event("") + strings.Repeat(`]}`, n)
	}
	const two = `[{"type":"event","posture":"Reactive","expect":["go"]},{"type":"event","posture":"Reactive","expect":["go"]}]`
	for name, c := range map[string]struct {
		trigger string
		code    int
		text    string // Of the refusal.
		firings int    // On two events "go".
	}{
		"negative within":         {event(`,"within":-1`), 422, "greater than or equal to 0", 0},
		"null within":             {event(`,"within":null`), 201, "", 2}, // The default.
		"infinite within":         {event(`,"within":1e999`), 422, "within", 0},
		"endless within":          {event(`,"within":1e18`), 422, "within", 0},
		"within 100 years":        {event(`,"within":3153600000`), 201, "", 1},
		"negative compound":       {`{"type":"compound","require":"all","within":-1,"triggers":` + two + `}`, 201, "", 0},
		"threshold 0":             {event(`,"threshold":0,"within":3600`), 201, "", 1},
		"threshold 1e9":           {event(`,"threshold":1000000000,"within":3600`), 201, "", 0},
		"threshold beyond int64":  {event(`,"threshold":10000000000000000000`), 422, "threshold", 0},
		"threshold of a half":     {event(`,"threshold":0.5`), 422, "threshold", 0},
		"silence that never is":   {`{"type":"event","posture":"Proactive","expect":["go"],"threshold":0,"within":10}`, 201, "", 0},
		"require 3 of 2":          {`{"type":"compound","require":3,"within":10,"triggers":` + two + `}`, 422, "less than or equal to the number of triggers", 0},
		"require -1":              {`{"type":"compound","require":-1,"within":10,"triggers":` + two + `}`, 422, "at least 1", 0},
		"nothing to require":      {`{"type":"compound","require":"all","within":10,"triggers":[]}`, 201, "", 0},
		"an empty sequence":       {`{"type":"sequence","within":10,"triggers":[]}`, 201, "", 0},
		"a label without values":  {event(`,"match":{"orch.resource.id":[]}`), 201, "", 0},
		"a label and its absence": {event(`,"match":{"orch.resource.id":"*","no.such":"!*"}`), 201, "", 0},
		"after what it expects":   {event(`,"after":["go"],"threshold":3,"within":3600`), 201, "", 0},
		"an unknown posture":      {`{"type":"event","posture":"Hesitant"}`, 422, "posture", 0},
		"nested 16 deep":          {nested(16), 201, "", 2},
		"nested 17 deep":          {nested(17), 422, "at most 16 levels", 0},
		"nested 400 deep":         {nested(400), 422, "nested more than 128", 0},
	} {
		t.Run(name, func(t *testing.T) {
			code, text := d.tryAutomationText(fmt.Sprintf(`{"name":%q,"actions":[{"type":"do-nothing"}],"trigger":%s}`, name, c.trigger))
			require.Equal(t, c.code, code, "%s: %s", name, text)
			require.Contains(t, text, c.text, name)
			if c.code != http.StatusCreated {
				return
			}
			d.emit("go", "all")
			d.emit("go", "all")
			require.Equal(t, c.firings, d.firingsOf(name), name)
			for _, a := range call[*orchv1.AutomationList](d, orchv1.AutomationService_ReadAutomations_FullMethodName,
				&orchv1.ReadAutomationsRequest{Query: &orchv1.AutomationQuery{}}).GetAutomations() {
				call[*emptypb.Empty](d, orchv1.AutomationService_DeleteAutomation_FullMethodName, &orchv1.DeleteAutomationRequest{Id: a.GetId()})
			}
		})
	}
}

// failures are the reasons for which the actions of automations failed, by the automation's name.
func (d *domain) failures(n int) map[string]string {
	d.t.Helper()
	reasons := map[string]string{}
	for _, e := range d.eventually("orch.automation.action.failed", n) {
		var payload struct{ Reason string }
		require.NoError(d.t, json.Unmarshal(e.GetPayload(), &payload))
		reasons[e.GetResource().GetLabels()["orch.resource.name"]] = payload.Reason
	}
	return reasons
}

// Templates that fail or would never end, and actions on what is gone or belongs to another workspace, fail with a reason.
// The actions of other automations are executed.
func TestActionsThatCannotBeExecuted(t *testing.T) {
	t.Parallel()
	d := newDomain(t)
	other := uuid.New()
	elsewhere := func(method string, pool *orchv1.CreateWorkPoolRequest) string {
		created, _, err := tryIn[*orchv1.WorkPool](d, other, method, pool)
		require.NoError(t, err)
		return created.GetId()
	}
	foreignPool := elsewhere(orchv1.WorkPoolService_CreateWorkPool_FullMethodName,
		&orchv1.CreateWorkPoolRequest{WorkPool: &orchv1.WorkPoolCreate{Name: "theirs", Type: "process"}})
	foreignFlow, _, err := tryIn[*orchv1.Flow](d, other, orchv1.FlowService_CreateFlow_FullMethodName, &orchv1.CreateFlowRequest{Flow: &orchv1.FlowCreate{Name: "theirs"}})
	require.NoError(t, err)
	create := &orchv1.DeploymentCreate{Name: "theirs", FlowId: foreignFlow.GetId()}
	foreignDeployment, _, err := tryIn[*orchv1.Deployment](d, other, orchv1.DeploymentService_CreateDeployment_FullMethodName,
		&orchv1.CreateDeploymentRequest{Deployment: create, UpdateMask: sentFields(create)})
	require.NoError(t, err)
	foreignRun, _, err := tryIn[*orchv1.FlowRun](d, other, orchv1.FlowRunService_CreateFlowRun_FullMethodName,
		&orchv1.CreateFlowRunRequest{FlowRun: &orchv1.FlowRunCreate{FlowId: foreignFlow.GetId()}})
	require.NoError(t, err)
	foreignAutomation, _, err := tryIn[*orchv1.Automation](d, other, orchv1.AutomationService_CreateAutomation_FullMethodName,
		&orchv1.CreateAutomationRequest{Automation: automationOf(t, `{"name":"theirs",`+simple+`}`)})
	require.NoError(t, err)

	hook := d.notification("slack-webhook", `{"url":"http://127.0.0.1:1/"}`)
	deployment := d.deployment(d.flow("ours")).GetId()
	runs := func(parameter string) string {
		return fmt.Sprintf(`{"type":"run-deployment","deployment_id":%q,"parameters":{"a":%q}}`, deployment, parameter)
	}
	says := func(body string) string {
		return fmt.Sprintf(`{"type":"send-notification","block_document_id":%q,"body":%q}`, hook, body)
	}
	const endless = `{% for i in range(100) %}{% for j in range(100) %}{{ "x" * 100000000 }}{% endfor %}{% endfor %}`
	want := map[string]struct{ action, reason string }{
		"division by zero":      {runs(`{{ 1 / 0 }}`), "Template rendering failed"},
		"endless parameter":     {runs(endless), "Template rendering failed"},
		"endless body":          {says(endless), "Template rendering failed"},
		"a huge power":          {says(`{{ 9 ** (9 ** 9) }}`), "Template rendering failed"},
		"a huge range":          {says(`{% for i in range(10000000) %}x{% endfor %}`), "Template rendering failed"},
		"a deployment gone":     {fmt.Sprintf(`{"type":"run-deployment","deployment_id":%q}`, uuid.NewString()), "404"},
		"a foreign deployment":  {fmt.Sprintf(`{"type":"run-deployment","deployment_id":%q}`, foreignDeployment.GetId()), "404"},
		"pause a foreign one":   {fmt.Sprintf(`{"type":"pause-deployment","deployment_id":%q}`, foreignDeployment.GetId()), "404"},
		"a block gone":          {fmt.Sprintf(`{"type":"call-webhook","block_document_id":%q,"payload":"x"}`, uuid.NewString()), "404"},
		"a foreign pool":        {fmt.Sprintf(`{"type":"pause-work-pool","work_pool_id":%q}`, foreignPool), "404"},
		"a queue gone":          {fmt.Sprintf(`{"type":"pause-work-queue","work_queue_id":%q}`, uuid.NewString()), "404"},
		"a foreign automation":  {fmt.Sprintf(`{"type":"pause-automation","automation_id":%q}`, foreignAutomation.GetId()), "404"},
		"a schedule gone":       {fmt.Sprintf(`{"type":"pause-schedule","deployment_id":%q,"schedule_id":%q}`, deployment, uuid.NewString()), "404"},
		"a foreign flow run":    {`{"type":"cancel-flow-run"}`, "Failed to set state"},
		"delete a foreign run":  {`{"type":"delete-flow-run"}`, "404"},
		"nothing to infer":      {`{"type":"pause-deployment","source":"inferred"}`, "No deployment could be inferred"},
		"a notification's kind": {fmt.Sprintf(`{"type":"call-webhook","block_document_id":%q,"payload":"x"}`, hook), "not a webhook block"},
		"a private address":     {says("x"), "the address is not public"},
	}
	for name, c := range want {
		d.automation(fmt.Sprintf(`{"name":%q,"trigger":{"type":"event","posture":"Reactive","expect":["go"]},"actions":[%s]}`, name, c.action))
	}
	d.automation(`{"name":"healthy","trigger":{"type":"event","posture":"Reactive","expect":["go"]},"actions":[{"type":"do-nothing"}]}`)
	d.emit("go", "orch.flow-run."+foreignRun.GetId())
	reasons := d.failures(len(want))
	for name, c := range want {
		t.Run(name, func(t *testing.T) {
			require.Contains(t, reasons[name], c.reason, name)
		})
	}
	require.Len(t, d.eventually("orch.automation.action.executed", 1), 1, "the healthy one, and nothing else")

	pool, _, err := tryIn[*orchv1.WorkPool](d, other, orchv1.WorkPoolService_ReadWorkPool_FullMethodName, &orchv1.ReadWorkPoolRequest{Name: "theirs"})
	require.NoError(t, err)
	require.False(t, pool.GetIsPaused())
	left, _, err := tryIn[*orchv1.FlowRun](d, other, orchv1.FlowRunService_ReadFlowRun_FullMethodName, &orchv1.ReadFlowRunRequest{Id: foreignRun.GetId()})
	require.NoError(t, err)
	require.Equal(t, foreignRun.GetStateId(), left.GetStateId())
}

func automationOf(t *testing.T, text string) *orchv1.AutomationCreate {
	t.Helper()
	create := &orchv1.AutomationCreate{}
	require.NoError(t, restjson.Unmarshal([]byte(text), create))
	return create
}

// Automations that fire because of each other end when one event has caused as many firings as it may.
func TestChainsOfManyAutomationsEnd(t *testing.T) {
	t.Parallel()
	d := newDomain(t)
	const many, bound = 8, 1000
	for i := range many {
		d.automation(fmt.Sprintf(`{"name":"%d","trigger":{"type":"event","posture":"Reactive","expect":["go","orch.automation.triggered"]},"actions":[]}`, i))
	}
	d.emit("go", "all")
	require.JSONEq(t, `{"limit":"chain_firings","value":1000}`, d.limitsReached(1)[0])
	fired := func() int64 {
		n, err := d.store.Connect().Collection("event").CountDocuments(t.Context(), bson.D{{Key: "event", Value: "orch.automation.triggered"}})
		require.NoError(t, err)
		return n
	}
	eventually(t, func() bool { return fired() == many+bound }, "firings")
	d.emit("go", "another chain")
	eventually(t, func() bool { return fired() == 2*(many+bound) }, "firings of another event")
}

// TestTriggersWithLabelsOfTheOtherVocabulary would never fire, so they are refused.
func TestTriggersWithLabelsOfTheOtherVocabulary(t *testing.T) {
	t.Parallel()
	d := newDomain(t)
	const event = `{"type":"event","posture":"Reactive","expect":["go"]`
	for name, trigger := range map[string]string{
		"match":               event + `,"match":{"prefect.resource.id":"a"}}`,
		"beside an own label": event + `,"match":{"orch.resource.id":"a","prefect.resource.name":"a"}}`,
		"match_related":       event + `,"match_related":{"orch.resource.id":"a","prefect.resource.role":"flow"}}`,
		"several":             event + `,"match_related":[{"orch.resource.id":"a"},{"prefect.resource.id":"b"}]}`,
		"for_each":            event + `,"for_each":["prefect.resource.id"]}`,
		"nested":              `{"type":"sequence","within":60,"triggers":[` + event + `},` + event + `,"match":{"prefect.resource.id":"a"}}]}`,
	} {
		code, says := d.tryAutomationText(fmt.Sprintf(`{"name":%q,"trigger":%s,"actions":[]}`, name, trigger))
		require.Equal(t, http.StatusUnprocessableEntity, code, name)
		require.Contains(t, says, "this server has the vocabulary orch: write orch.resource.", name)
	}
	for name, trigger := range map[string]string{
		"own labels":       event + `,"match":{"orch.resource.id":"a"},"for_each":["orch.resource.id","related:flow:orch.resource.id"]}`,
		"names and values": `{"type":"event","posture":"Reactive","expect":["prefect.flow-run.Failed"],"match":{"orch.resource.id":"prefect.resource.id"}}`,
		"a longer label":   event + `,"match":{"prefect.resource.identity":"a"}}`,
	} {
		code, says := d.tryAutomationText(fmt.Sprintf(`{"name":%q,"trigger":%s,"actions":[]}`, name, trigger))
		require.Equal(t, http.StatusCreated, code, "%s: %s", name, says)
	}
}

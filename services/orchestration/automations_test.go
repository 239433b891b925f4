package orchestration_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/fieldmaskpb"

	"github.com/orch-project/orch/pkg/restjson"
	"github.com/orch-project/orch/pkg/rpc"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// tryAutomation creates an automation from JSON, as a client sends it.
func (d *domain) tryAutomation(text string) (*orchv1.Automation, error) {
	d.t.Helper()
	automation, _, err := try[*orchv1.Automation](d, orchv1.AutomationService_CreateAutomation_FullMethodName,
		&orchv1.CreateAutomationRequest{Automation: automationOf(d.t, text)})
	return automation, err
}

func (d *domain) automation(text string) *orchv1.Automation {
	d.t.Helper()
	automation, err := d.tryAutomation(text)
	require.NoError(d.t, err)
	return automation
}

func (d *domain) tryReadAutomation(id string) (*orchv1.Automation, error) {
	automation, _, err := try[*orchv1.Automation](d, orchv1.AutomationService_ReadAutomation_FullMethodName, &orchv1.ReadAutomationRequest{Id: id})
	return automation, err
}

// asSent is an automation as it is read, without what the server adds: ids and times.
func asSent(t *testing.T, automation *orchv1.Automation) map[string]any {
	t.Helper()
	text, err := restjson.Marshal(automation)
	require.NoError(t, err)
	var read map[string]any
	require.NoError(t, json.Unmarshal(text, &read))
	for _, key := range []string{"id", "created", "updated"} {
		require.NotEmpty(t, read[key], key)
		delete(read, key)
	}
	withoutIDs(t, read["trigger"].(map[string]any))
	return read
}

func withoutIDs(t *testing.T, trigger map[string]any) {
	t.Helper()
	require.NotEmpty(t, trigger["id"])
	delete(trigger, "id")
	children, _ := trigger["triggers"].([]any)
	for _, child := range children {
		withoutIDs(t, child.(map[string]any))
	}
}

// everyTrigger and everyAction are as complete as clients send them; times are numbers of seconds then.
const everyTrigger = `{"type":"sequence","within":60.0,"triggers":[
	{"type":"event","match":{"orch.resource.id":"orch.flow-run.*","a.b":["x","!y"]},"match_related":[{"$role":"flow"},{}],
		"after":["a"],"expect":["orch.flow-run.Failed"],"for_each":["orch.resource.id"],"posture":"Reactive","threshold":2,"within":1.5},
	{"type":"compound","require":"any","within":null,"triggers":[
		{"type":"event","match":{},"match_related":{"x":"y"},"after":[],"expect":[],"for_each":[],"posture":"Proactive","threshold":1,"within":10.0}]},
	{"type":"compound","require":1,"within":0.0,"triggers":[
		{"type":"metric","match":{},"match_related":{},"posture":"Metric",
			"metric":{"name":"lateness","threshold":1.5,"operator":">=","range":300.0,"firing_for":600.0}}]}]}`

const anID = "0190a7c0-0000-7000-8000-000000000001"

var everyAction = strings.ReplaceAll(`[{"type":"do-nothing"},
	{"type":"run-deployment","source":"selected","deployment_id":"ID","parameters":{"a":"{{ event.id }}","b":1.50},"job_variables":{},"schedule_after":5.0,"debounce":null,"batch":null,"singleton":null},
	{"type":"run-deployment","source":"inferred","deployment_id":null,"parameters":null,"job_variables":null,"schedule_after":0.0,"debounce":null,"batch":null,"singleton":null},
	{"type":"pause-deployment","source":"selected","deployment_id":"ID"},{"type":"resume-deployment","source":"inferred","deployment_id":null},
	{"type":"cancel-flow-run"},{"type":"delete-flow-run"},{"type":"suspend-flow-run"},{"type":"resume-flow-run"},
	{"type":"change-flow-run-state","name":"N","state":"FAILED","message":null,"force":true},
	{"type":"pause-work-queue","source":"selected","work_queue_id":"ID"},{"type":"resume-work-queue","source":"inferred","work_queue_id":null},
	{"type":"pause-work-pool","source":"selected","work_pool_id":"ID"},{"type":"resume-work-pool","source":"inferred","work_pool_id":null},
	{"type":"pause-automation","source":"selected","automation_id":"ID"},{"type":"resume-automation","source":"inferred","automation_id":null},
	{"type":"send-notification","block_document_id":"ID","subject":"{{ automation.name }}","body":"{% for x in y %}{{ x }}{% endfor %}"},
	{"type":"call-webhook","block_document_id":"ID","payload":"{\"a\": 1}"}]`, "ID", anID)

func TestAutomationsComeBackAsTheyWereSent(t *testing.T) {
	t.Parallel()
	d := newDomain(t)
	sent := fmt.Sprintf(`{"name":"a","description":"d","enabled":false,"tags":["t"],"trigger":%s,"actions":%s,
		"actions_on_trigger":[{"type":"do-nothing"}],"actions_on_resolve":[]}`, everyTrigger, everyAction)
	created := d.automation(sent)
	read, err := d.tryReadAutomation(created.GetId())
	require.NoError(t, err)
	require.True(t, proto.Equal(created, read))
	text, err := json.Marshal(asSent(t, read))
	require.NoError(t, err)
	require.JSONEq(t, sent, string(text))
	require.Contains(t, string(must(restjson.Marshal(read))), `"b":1.50`, "numbers as they were written")
	d.happened("orch.automation.created", "orch.automation."+created.GetId())
}

func must(text []byte, err error) []byte {
	if err != nil {
		panic(err)
	}
	return text
}

func TestWhatIsNotSentOfAnAutomation(t *testing.T) {
	t.Parallel()
	d := newDomain(t)
	created := d.automation(`{"name":"a","trigger":{"posture":"Proactive"},"actions":[{"type":"run-deployment","deployment_id":"` + anID + `"}]}`)
	text, err := json.Marshal(asSent(t, created))
	require.NoError(t, err)
	require.JSONEq(t, `{"name":"a","description":"","enabled":true,"tags":[],"actions_on_trigger":[],"actions_on_resolve":[],
		"trigger":{"type":"event","match":{},"match_related":{},"after":[],"expect":[],"for_each":[],"posture":"Proactive","threshold":1,"within":10.0},
		"actions":[{"type":"run-deployment","source":"selected","deployment_id":"`+anID+`","parameters":null,"job_variables":null,"schedule_after":0.0,"debounce":null,"batch":null,"singleton":null}]}`, string(text))
}

func TestAutomationsThatAreRefused(t *testing.T) {
	t.Parallel()
	d := newDomain(t)
	const trigger = `{"type":"event","posture":"Reactive"}`
	const nothing = `[{"type":"do-nothing"}]`
	runs := func(match, expect string) string {
		return `{"type":"event","posture":"Reactive","match":` + match + `,"expect":["orch.flow-run.` + expect + `"]}`
	}
	const inferred = `[{"type":"run-deployment","source":"inferred"}]`
	selected := `[{"type":"run-deployment","deployment_id":"` + anID + `"}]`
	large := `{"type":"run-deployment","deployment_id":"` + anID + `","parameters":{"a":"` + strings.Repeat("a", 500_000) + `"}}`
	for name, c := range map[string]struct {
		trigger, actions string
		at               string
		text             string
	}{
		"too soon":        {`{"type":"event","posture":"Proactive","within":9.9}`, nothing, "trigger", "10 seconds"},
		"negative":        {`{"type":"event","posture":"Reactive","within":-1}`, nothing, "within", "0 seconds"},
		"none required":   {`{"type":"compound","within":null,"require":0,"triggers":[]}`, nothing, "trigger", "at least 1"},
		"too many":        {`{"type":"compound","within":null,"require":2,"triggers":[` + trigger + `]}`, nothing, "trigger", "number of triggers"},
		"below":           {`{"type":"sequence","within":1,"triggers":[{"type":"event","posture":"Proactive","within":1}]}`, nothing, "0", "10 seconds"},
		"metric":          {`{"type":"metric","metric":{"name":"duration","threshold":1,"operator":"<","range":299}}`, nothing, "range", "300 seconds"},
		"no id":           {trigger, `[{"type":"pause-deployment"}]`, "0", "deployment_id is required"},
		"an id too many":  {trigger, `[{"type":"do-nothing"},{"type":"resume-work-pool","source":"inferred","work_pool_id":"` + anID + `"}]`, "1", "work_pool_id is not allowed"},
		"template":        {trigger, `[{"type":"send-notification","block_document_id":"` + anID + `","body":"{{ x"}]`, "body", "'body' is not a valid template"},
		"loops":           {trigger, `[{"type":"call-webhook","block_document_id":"` + anID + `","payload":"` + strings.Repeat("{% for x in y %}{% endfor %}", 11) + `"}]`, "payload", "for loops"},
		"parameters":      {trigger, `[{"type":"run-deployment","deployment_id":"` + anID + `","parameters":{"a":{"b":"{{ x"}}}]`, "parameters", "a.b"},
		"too large":       {trigger, "[" + strings.Repeat(large+",", 2) + large + "]", "body", "the limit is 1048576"},
		"past":            {trigger, `[{"type":"run-deployment","deployment_id":"` + anID + `","schedule_after":-1}]`, "schedule_after", "non-negative"},
		"endless":         {runs("{}", "Running"), inferred, "body", "infinite loop"},
		"endless, chosen": {runs(`{"orch.resource.id":"orch.flow-run.*"}`, "*"), selected, "body", "infinite loop"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := d.tryAutomation(`{"name":"a","trigger":` + c.trigger + `,"actions":` + c.actions + `}`)
			e := rpc.HTTPError(err)
			require.Equal(t, int32(http.StatusUnprocessableEntity), e.GetStatus(), name)
			list := e.GetFieldErrors().GetErrors()
			require.Len(t, list, 1, name)
			require.Contains(t, list[0].GetMsg(), c.text, name)
			last := list[0].GetLoc()[len(list[0].GetLoc())-1]
			require.Equal(t, c.at, map[bool]string{true: last.GetKey(), false: fmt.Sprint(last.GetIndex())}[last.GetKey() != ""], name)
		})
	}
	for _, ok := range []string{runs(`{"a":"b"}`, "Running"), runs("{}", "Failed"), `{"type":"event","posture":"Proactive","expect":["orch.flow-run.Running"]}`} {
		d.automation(`{"name":"a","trigger":` + ok + `,"actions":` + selected + `}`)
	}
	// A disabled automation cannot loop, and so cannot be switched on.
	off := d.automation(`{"name":"a","enabled":false,"trigger":` + runs("{}", "Pending") + `,"actions":` + inferred + `}`)
	code, _ := status(d.switchAutomation(off.GetId(), true))
	require.Equal(t, http.StatusUnprocessableEntity, code)
}

func (d *domain) switchAutomation(id string, on bool) error {
	_, err := tryIgnored(d, orchv1.AutomationService_PatchAutomation_FullMethodName, &orchv1.PatchAutomationRequest{
		Id: id, Automation: &orchv1.AutomationPartialUpdate{Enabled: on}, UpdateMask: sentFields(&orchv1.AutomationPartialUpdate{}, "enabled"),
	})
	return err
}

const simple = `"trigger":{"type":"event","posture":"Reactive"},"actions":[{"type":"do-nothing"}]`

func TestAutomationsAreReplacedSwitchedAndDeleted(t *testing.T) {
	t.Parallel()
	d := newDomain(t)
	created := d.automation(`{"name":"a","description":"d","tags":["t"],"owner_resource":"orch.deployment.x",` + simple + `}`)
	id := created.GetId()
	require.NoError(t, d.switchAutomation(id, false))
	read, err := d.tryReadAutomation(id)
	require.NoError(t, err)
	require.False(t, read.GetEnabled())
	require.Equal(t, created.GetTrigger().GetEvent().GetId(), read.GetTrigger().GetEvent().GetId(), "a switch leaves triggers as they are")

	replacement := &orchv1.AutomationUpdate{}
	require.NoError(t, restjson.Unmarshal([]byte(`{"name":"b",`+simple+`}`), replacement))
	put := func(id string) error {
		_, err := tryIgnored(d, orchv1.AutomationService_UpdateAutomation_FullMethodName, &orchv1.UpdateAutomationRequest{
			Id: id, Automation: replacement, UpdateMask: &fieldmaskpb.FieldMask{Paths: []string{"name", "trigger", "actions"}},
		})
		return err
	}
	require.NoError(t, put(id))
	read, err = d.tryReadAutomation(id)
	require.NoError(t, err)
	want := map[string]any{"name": "b", "description": "d", "enabled": false, "tags": []any{"t"}} // Fields that were not sent stay.
	have := asSent(t, read)
	maps.DeleteFunc(have, func(key string, _ any) bool { _, ok := want[key]; return !ok })
	require.Equal(t, want, have)
	require.NotEqual(t, created.GetTrigger().GetEvent().GetId(), read.GetTrigger().GetEvent().GetId())
	require.Len(t, d.relatedTo("orch.deployment.x"), 1, "whose it is stays")
	d.happened("orch.automation.updated", "orch.automation."+id)

	_, err = tryIgnored(d, orchv1.AutomationService_DeleteAutomation_FullMethodName, &orchv1.DeleteAutomationRequest{Id: id})
	require.NoError(t, err)
	d.happened("orch.automation.deleted", "orch.automation."+id)
	for _, e := range d.events(&orchv1.EventFilter{
		Resource: &orchv1.EventResourceFilter{Id: &orchv1.StringList{Values: []string{"orch.automation." + id}}},
	}).GetEvents() {
		if !slices.Contains([]string{"orch.automation.created", "orch.automation.updated", "orch.automation.deleted"}, e.GetEvent()) {
			continue // A firing: the engine may have evaluated the automation's own lifecycle.
		}
		var payload map[string]any
		require.NoError(t, json.Unmarshal(e.GetPayload(), &payload))
		require.Equal(t, e.GetResource().GetLabels()["orch.resource.name"], payload["name"], e.GetEvent())
		require.Contains(t, payload, "enabled", e.GetEvent())
		require.Contains(t, payload, "trigger", e.GetEvent())
		require.Equal(t, e.GetEvent() == "orch.automation.updated", payload["updated_fields"] != nil, e.GetEvent())
	}
	_, err = tryIgnored(d, orchv1.AutomationService_DeleteAutomation_FullMethodName, &orchv1.DeleteAutomationRequest{Id: id})
	_, readErr := d.tryReadAutomation(id)
	for _, err := range []error{err, readErr, put(id), d.switchAutomation(uuid.NewString(), true)} {
		code, text := status(err)
		require.Equal(t, http.StatusNotFound, code)
		require.Equal(t, "Automation not found", text)
	}
}

func (d *domain) relatedTo(resource string) []*orchv1.Automation {
	d.t.Helper()
	return call[*orchv1.AutomationList](d, orchv1.AutomationService_ReadAutomationsRelatedToResource_FullMethodName,
		&orchv1.ReadAutomationsRelatedToResourceRequest{ResourceId: resource}).GetAutomations()
}

func TestAutomationsOfAResource(t *testing.T) {
	t.Parallel()
	d := newDomain(t)
	resource := "orch.deployment." + anID
	for _, name := range []string{"2", "1"} {
		d.automation(`{"name":"` + name + `","owner_resource":"` + resource + `",` + simple + `}`)
	}
	d.automation(`{"name":"3","trigger":{"posture":"Reactive"},"actions":[{"type":"run-deployment","deployment_id":"` + anID + `"}]}`)
	d.automation(`{"name":"4",` + simple + `}`)
	names := func() string {
		var all []string
		for _, automation := range d.relatedTo(resource) {
			all = append(all, automation.GetName())
		}
		return strings.Join(all, " ")
	}
	require.Equal(t, "1 2 3", names())
	for range 2 {
		_, err := tryIgnored(d, orchv1.AutomationService_DeleteAutomationsOwnedByResource_FullMethodName,
			&orchv1.DeleteAutomationsOwnedByResourceRequest{ResourceId: resource})
		require.NoError(t, err)
		require.Equal(t, "3", names(), "those that run it are not its own")
	}
}

func TestAutomationsAreFilteredAndCounted(t *testing.T) {
	t.Parallel()
	d := newDomain(t)
	first := d.automation(`{"name":"b","tags":["x","y"],` + simple + `}`)
	d.automation(`{"name":"a","tags":["x"],` + simple + `}`)
	d.automation(`{"name":"c",` + simple + `}`)
	read := func(q *orchv1.AutomationQuery) string {
		t.Helper()
		var names []string
		for _, automation := range call[*orchv1.AutomationList](d, orchv1.AutomationService_ReadAutomations_FullMethodName,
			&orchv1.ReadAutomationsRequest{Query: q}).GetAutomations() {
			names = append(names, automation.GetName())
		}
		count := call[*orchv1.CountResponse](d, orchv1.AutomationService_CountAutomations_FullMethodName,
			&orchv1.CountAutomationsRequest{Query: &orchv1.AutomationCountQuery{Automations: q.GetAutomations()}}).GetCount()
		require.Len(t, names, int(count))
		return strings.Join(names, " ")
	}
	require.Equal(t, "a b c", read(nil))
	require.Equal(t, "c a b", read(&orchv1.AutomationQuery{Sort: orchv1.AutomationSort_AUTOMATION_SORT_CREATED_DESC}))
	for want, filter := range map[string]*orchv1.AutomationFilter{
		"a":   {Name: &orchv1.AnyStringFilter{Any_: &orchv1.StringList{Values: []string{"a", "z"}}}},
		"b":   {Created: &orchv1.BeforeFilter{Before_: first.GetCreated()}},
		"a b": {Tags: &orchv1.TagsFilter{Any_: &orchv1.StringList{Values: []string{"x"}}}},
		"c":   {Tags: &orchv1.TagsFilter{IsNull_: proto.Bool(true)}},
		"":    {Id: &orchv1.AnyUuidFilter{Any_: &orchv1.UuidList{Values: []string{uuid.NewString()}}}},
	} {
		require.Equal(t, want, read(&orchv1.AutomationQuery{Automations: filter}))
	}
}

func TestTemplatesAreValidated(t *testing.T) {
	t.Parallel()
	d := newDomain(t)
	for template, ok := range map[string]bool{"": true, "{{ event.id }}": true, "{{ flow_run | ui_url }}": true, "a\n{{ x": false, "{% for %}": false} {
		_, _, err := try[*emptypb.Empty](d, orchv1.AutomationService_ValidateAutomationTemplate_FullMethodName,
			&orchv1.ValidateAutomationTemplateRequest{Template: template})
		_, _, again := try[*emptypb.Empty](d, orchv1.AutomationService_ValidateTemplate_FullMethodName, &orchv1.ValidateTemplateRequest{Template: template})
		if ok {
			require.NoError(t, err, template)
			require.NoError(t, again, template)
			continue
		}
		for _, err := range []error{err, again} {
			e := rpc.HTTPError(err)
			require.Equal(t, int32(http.StatusUnprocessableEntity), e.GetStatus())
			var fieldError struct {
				Error struct {
					Line            int
					Message, Source string
				}
			}
			require.NoError(t, json.Unmarshal(e.GetBody(), &fieldError))
			require.Equal(t, template, fieldError.Error.Source)
			require.NotEmpty(t, fieldError.Error.Message)
			require.Positive(t, fieldError.Error.Line)
		}
	}
}

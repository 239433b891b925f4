package action

import (
	"context"
	"encoding/json"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/orch-project/orch/pkg/jinja"
	"github.com/orch-project/orch/pkg/restjson"
	"github.com/orch-project/orch/pkg/vocabulary"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// variables are what a template of an action sees. Objects of the server are read only if the template names them.
func (r *Runner) variables(ctx context.Context, run *orchv1.AutomationActionRun, template string) jinja.Vars {
	f := run.GetFiring()
	vars := jinja.Vars{
		"automation": r.message(run.GetAutomation()),
		"firing":     r.firing(f),
		"labels":     dict(f.GetLabels()),
	}
	var firings, events []jinja.Value
	eachFiring(f, func(one *orchv1.AutomationFiring) {
		firings = append(firings, r.firing(one))
		if one.GetEvent() != nil && len(one.GetChildren()) == 0 {
			events = append(events, EventValue(r.Vocabulary, r.UIURL, one.GetEvent()))
		}
	})
	vars["firings"], vars["events"] = jinja.List(firings...), jinja.List(events...)
	e := r.reason(run)
	if e == nil {
		vars["event"] = jinja.None
		return vars
	}
	vars["event"] = EventValue(r.Vocabulary, r.UIURL, e)
	maps.Copy(vars, r.objects(ctx, e, template))
	if named(template, "variables") {
		vars["variables"] = r.workspaceVariables(ctx)
	}
	return vars
}

func eachFiring(f *orchv1.AutomationFiring, visit func(*orchv1.AutomationFiring)) {
	visit(f)
	for _, child := range f.GetChildren() {
		eachFiring(child, visit)
	}
}

// message is a message as the API shows it.
func (r *Runner) message(m proto.Message) jinja.Value {
	text, err := restjson.Marshal(m)
	if err != nil {
		return jinja.None
	}
	return fromJSON(text)
}

func fromJSON(text []byte) jinja.Value {
	v, err := jinja.FromJSON(string(text))
	if err != nil {
		return jinja.None
	}
	return v
}

func encoded(v any) jinja.Value {
	text, err := json.Marshal(v)
	if err != nil {
		return jinja.None
	}
	return fromJSON(text)
}

func (r *Runner) firing(f *orchv1.AutomationFiring) jinja.Value {
	state, _ := restjson.EnumWord(f.GetState().Descriptor(), f.GetState().Number())
	pairs := []jinja.Pair{
		pair("id", jinja.Str(f.GetId())),
		pair("trigger_states", jinja.List(jinja.Str(state))),
		pair("triggered", jinja.Str(microTime(f.GetTriggered()).Format("2006-01-02T15:04:05.000000Z"))),
		pair("triggering_labels", dict(f.GetLabels())),
		pair("triggering_event", jinja.None),
	}
	if f.GetEvent() != nil {
		pairs[4] = pair("triggering_event", EventValue(r.Vocabulary, r.UIURL, f.GetEvent()))
	}
	if f.Value != nil {
		pairs = append(pairs, pair("triggering_value", jinja.Float(f.GetValue())))
	}
	return jinja.Dict(pairs...)
}

// EventValue is an event as templates see it. ui is the address of the dashboard.
func EventValue(vocab vocabulary.Vocabulary, ui string, e *orchv1.ReceivedEvent) jinja.Value {
	byRole := map[string][]jinja.Value{}
	related := make([]jinja.Value, 0, len(e.GetRelated()))
	for _, one := range e.GetRelated() {
		v := resourceValue(vocab, one.GetLabels())
		related = append(related, v)
		role := one.GetLabels()[vocab.ResourceRole()]
		byRole[role] = append(byRole[role], v)
	}
	var first, all []jinja.Pair
	for _, role := range slices.Sorted(maps.Keys(byRole)) {
		first = append(first, pair(role, byRole[role][0]))
		all = append(all, pair(role, jinja.List(byRole[role]...)))
	}
	payload := jinja.Dict()
	if len(e.GetPayload()) > 0 {
		payload = fromJSON(e.GetPayload())
	}
	follows := jinja.None
	if e.Follows != nil {
		follows = jinja.Str(e.GetFollows())
	}
	return jinja.Dict(
		pair("id", jinja.Str(e.GetId())), pair("event", jinja.Str(e.GetEvent())),
		pair("occurred", jinja.Str(e.GetOccurred().AsTime().UTC().Format("2006-01-02T15:04:05.000000Z"))),
		pair("received", jinja.Str(e.GetReceived().AsTime().UTC().Format("2006-01-02T15:04:05.000000Z"))),
		pair("resource", resourceValue(vocab, e.GetResource().GetLabels())), pair("related", jinja.List(related...)),
		pair("payload", payload), pair("follows", follows),
		pair("resource_in_role", jinja.Dict(first...)), pair("resources_in_role", jinja.Dict(all...)),
		pair("url", jinja.Str(strings.TrimSuffix(ui, "/")+"/events/event/"+e.GetOccurred().AsTime().UTC().Format("2006-01-02")+"/"+e.GetId())),
	)
}

// resourceValue is the labels of a resource, with its id, its name and its labels by their parts: labels.a.b.
func resourceValue(v vocabulary.Vocabulary, labels map[string]string) jinja.Value {
	pairs := []jinja.Pair{pair("id", jinja.Str(labels[v.ResourceID()])), pair("name", jinja.Str(labels[v.ResourceName()]))}
	for _, label := range slices.Sorted(maps.Keys(labels)) {
		pairs = append(pairs, pair(label, jinja.Str(labels[label])))
	}
	return jinja.Dict(append(pairs, pair("labels", encoded(parted(labels))))...)
}

// parted are labels by the parts of their names. A name that others begin with keeps its value under its whole name.
func parted(labels map[string]string) map[string]any {
	tree := map[string]any{}
	for _, label := range slices.Sorted(maps.Keys(labels)) {
		at, parts := tree, strings.Split(label, ".")
		for i, part := range parts {
			if i == len(parts)-1 {
				if _, taken := at[part]; !taken {
					at[part] = labels[label]
				}
				break
			}
			below, ok := at[part].(map[string]any)
			if !ok {
				below = map[string]any{}
				at[part] = below
			}
			at = below
		}
		tree[label] = labels[label]
	}
	return tree
}

func pair(key string, value jinja.Value) jinja.Pair {
	return jinja.Pair{Key: jinja.Str(key), Value: value}
}

func dict(texts map[string]string) jinja.Value {
	var pairs []jinja.Pair
	for _, key := range slices.Sorted(maps.Keys(texts)) {
		pairs = append(pairs, pair(key, jinja.Str(texts[key])))
	}
	return jinja.Dict(pairs...)
}

// objects are the objects of the server that an event names and a template uses. An object that cannot be read is None.
func (r *Runner) objects(ctx context.Context, e *orchv1.ReceivedEvent, template string) jinja.Vars {
	vars := jinja.Vars{}
	for name, kind := range map[string]string{
		"flow": "flow", "flow_run": "flow-run", "task_run": "task-run", "deployment": "deployment", "work_pool": "work-pool",
		"work_queue": "work-queue", "concurrency_limit": "concurrency-limit",
	} {
		if !named(template, name) {
			continue
		}
		id, err := r.infer(e, kindOf{kind, kind})
		if err != nil {
			continue
		}
		vars[name] = jinja.None
		if object, err := r.object(ctx, kind, id); err == nil {
			vars[name] = r.message(object)
		}
	}
	return vars
}

// workspaceVariables are the first 200 variables of the workspace, by name.
func (r *Runner) workspaceVariables(ctx context.Context) jinja.Value {
	response, _, err := r.Caller.Call(ctx, orchv1.VariableService_ReadVariables_FullMethodName, &orchv1.ReadVariablesRequest{Query: &orchv1.VariableQuery{}})
	list, ok := response.(*orchv1.VariableList)
	if err != nil || !ok {
		return jinja.None
	}
	var pairs []jinja.Pair
	for _, v := range list.GetVariables() {
		pairs = append(pairs, pair(v.GetName(), fromJSON(v.GetValue())))
	}
	return jinja.Dict(pairs...)
}

// object reads an object of the server.
func (r *Runner) object(ctx context.Context, kind, id string) (proto.Message, error) {
	var method string
	var request proto.Message
	switch kind {
	case "flow":
		method, request = orchv1.FlowService_ReadFlow_FullMethodName, &orchv1.ReadFlowRequest{Id: id}
	case "flow-run":
		method, request = orchv1.FlowRunService_ReadFlowRun_FullMethodName, &orchv1.ReadFlowRunRequest{Id: id}
	case "task-run":
		method, request = orchv1.TaskRunService_ReadTaskRun_FullMethodName, &orchv1.ReadTaskRunRequest{Id: id}
	case "deployment":
		method, request = orchv1.DeploymentService_ReadDeployment_FullMethodName, &orchv1.ReadDeploymentRequest{Id: id}
	case "work-queue":
		method, request = orchv1.WorkQueueService_ReadWorkQueue_FullMethodName, &orchv1.ReadWorkQueueRequest{Id: id}
	case "work-pool":
		name, err := r.poolName(ctx, id)
		if err != nil {
			return nil, err
		}
		method, request = orchv1.WorkPoolService_ReadWorkPool_FullMethodName, &orchv1.ReadWorkPoolRequest{Name: name}
	default:
		method, request = orchv1.ConcurrencyLimitV2Service_ReadConcurrencyLimitV2_FullMethodName, &orchv1.ReadConcurrencyLimitV2Request{IdOrName: id}
	}
	response, _, err := r.Caller.Call(ctx, method, request)
	return response, err
}

// named reports whether a template uses a name.
func named(template, name string) bool {
	return regexp.MustCompile(`\b` + name + `\b`).MatchString(template)
}

// address is where the dashboard shows an object: by its kind and id, or by the resource that it is.
func address(ui string, v vocabulary.Vocabulary, object jinja.Value) string {
	ui = strings.TrimSuffix(ui, "/")
	if id := textOf(object, "id"); strings.HasPrefix(id, v.String()+".") {
		parts := strings.SplitN(id, ".", 3)
		if len(parts) == 3 {
			return ui + "/" + path(parts[1]) + "/" + parts[2]
		}
	}
	switch {
	case textOf(object, "event") != "":
		return ui + "/events/event/" + strings.SplitN(textOf(object, "occurred"), "T", 2)[0] + "/" + textOf(object, "id")
	case has(object, "trigger") && has(object, "actions"):
		return ui + "/automations/automation/" + textOf(object, "id")
	case has(object, "task_key"):
		return ui + "/runs/task-run/" + textOf(object, "id")
	case has(object, "run_count"):
		return ui + "/runs/flow-run/" + textOf(object, "id")
	case has(object, "entrypoint"):
		return ui + "/deployments/deployment/" + textOf(object, "id")
	case has(object, "work_pool_id"):
		return ui + "/work-queues/work-queue/" + textOf(object, "id")
	}
	return ui + "/flows/flow/" + textOf(object, "id")
}

// path is the part of an address that stands for a kind of resource.
func path(kind string) string {
	switch kind {
	case "flow-run", "task-run":
		return "runs/" + kind
	}
	return kind + "s/" + kind
}

// eventsAddress is where the dashboard shows the events of an object.
func eventsAddress(ui string, v vocabulary.Vocabulary, object jinja.Value) string {
	id := textOf(object, "id")
	if !strings.HasPrefix(id, v.String()+".") {
		kind := strings.TrimPrefix(address("", v, object), "/")
		parts := strings.Split(kind, "/")
		if len(parts) > 1 {
			id = v.Name(parts[len(parts)-2], id)
		}
	}
	return strings.TrimSuffix(ui, "/") + "/events?resource=" + url.QueryEscape(id)
}

func textOf(object jinja.Value, key string) string {
	v, ok := jinja.Get(object, key)
	if !ok {
		return ""
	}
	text, _ := jinja.AsString(v)
	return text
}

func has(object jinja.Value, key string) bool {
	_, ok := jinja.Get(object, key)
	return ok
}

package pages

import (
	"encoding/json"
	"slices"
	"strconv"

	"github.com/orch-project/orch/pkg/jsontree"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/gateway/internal/web/apicall"
	"github.com/orch-project/orch/services/gateway/internal/web/page"
	"github.com/orch-project/orch/services/gateway/internal/web/show"
)

// poolActions are the actions of the page of a work pool.
func poolActions() []page.Action {
	const update, queue = orchv1.WorkPoolService_UpdateWorkPool_FullMethodName, orchv1.WorkPoolService_UpdateWorkPoolQueue_FullMethodName
	return []page.Action{
		{Name: "pause-pool", Calls: []string{update}, Done: "The work pool is paused: workers get no runs.", Do: pausePool("pause-pool", true)},
		{Name: "resume-pool", Calls: []string{update}, Done: "The work pool is active again.", Do: pausePool("resume-pool", false)},
		{Name: "pool-edit", Calls: []string{update}, Done: "The work pool is changed.", Do: editPool},
		{Name: "pool-delete", Calls: []string{orchv1.WorkPoolService_DeleteWorkPool_FullMethodName}, Done: "The work pool is deleted.", Do: deletePool},
		{Name: "queue-create", Calls: []string{orchv1.WorkPoolService_CreateWorkPoolQueue_FullMethodName}, Done: "The work queue is created.", Do: createQueue},
		{Name: "pause-queue", Calls: []string{queue}, Done: "The work queue is paused: workers get none of its runs.", Do: pauseQueue("pause-queue", true)},
		{Name: "resume-queue", Calls: []string{queue}, Done: "The work queue is active again.", Do: pauseQueue("resume-queue", false)},
		{Name: "worker-remove", Calls: []string{orchv1.WorkPoolService_DeleteWorker_FullMethodName}, Done: "The worker is removed.", Do: removeWorker},
	}
}

// queuePage is the page of the settings of a work queue.
func queuePage() page.Page {
	return page.Page{
		Pattern: "/work-pools/work-pool/{name}/queue/{queue}", Section: "/work-pools",
		Needs: []string{orchv1.WorkPoolService_ReadWorkPoolQueue_FullMethodName}, Show: showQueue,
		Actions: []page.Action{
			{Name: "queue-edit", Calls: []string{orchv1.WorkPoolService_UpdateWorkPoolQueue_FullMethodName}, Done: "The work queue is changed.", Do: editQueue},
			{Name: "queue-delete", Calls: []string{orchv1.WorkPoolService_DeleteWorkPoolQueue_FullMethodName}, Done: "The work queue is deleted.", Do: deleteQueue},
		},
	}
}

// numberText is an optional number for an input.
func numberText(n *int64) string {
	if n == nil {
		return ""
	}
	return strconv.FormatInt(*n, 10)
}

// readNumber is the value of numberText: nil for an empty input.
func readNumber(r *page.Request, name string, problems *[]string, invalid map[string]bool) any {
	typed := r.Field(name)
	if typed == "" {
		return nil
	}
	n, err := strconv.ParseInt(typed, 10, 64)
	if err != nil {
		*problems, invalid[name] = append(*problems, name+": not a whole number"), true
	}
	return n
}

// limitField is the field of the maximum number of runs at a time.
func limitField(limit *int64) field {
	return field{Name: "concurrency_limit", Label: "Flow runs at a time", Kind: "number", Value: numberText(limit), Hint: "Empty means no limit."}
}

func newPoolForm(r *page.Request) form {
	types := apicall.New[*orchv1.CollectionView](orchv1.CollectionService_ReadWorkPoolTypes_FullMethodName, apicall.Input{})
	_ = r.Call(types) // Without them the type is a text.
	kind := field{Name: "type", Label: "Type", Value: "process", Required: true, Max: 500, Hint: "The type of its workers"}
	if names := poolTypes(types.Result().GetContent()); len(names) > 0 {
		choices := make([]choice, len(names))
		for i, name := range names {
			choices[i] = choice{Value: name, Title: name}
		}
		kind = selectField("type", "Type", "process", choices)
	}
	return form{
		Title: "New work pool", Action: "pool-create", Button: "Create the work pool",
		Fields: []field{{Name: "name", Label: "Name", Required: true, Max: 500}, kind, {Name: "description", Label: "Description", Max: 1024}, limitField(nil)},
	}
}

// poolTypes returns the names of the types of the collection view, whose objects are keyed by the package and then by the type.
func poolTypes(content []byte) []string {
	packages, err := jsontree.ParseObject(content)
	if err != nil {
		return nil
	}
	var names []string
	for _, one := range packages.Members() {
		types, _ := one.Value.(*jsontree.Object)
		for _, m := range types.Members() {
			names = append(names, m.Key)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func createPool(r *page.Request) (page.View, error) {
	var problems []string
	invalid := map[string]bool{}
	body := apicall.JSON{"name": r.Field("name"), "type": r.Field("type"), "description": r.Field("description"), "concurrency_limit": readNumber(r, "concurrency_limit", &problems, invalid)}
	if problems != nil {
		return invalidForm(r, showWorkPools, problems, invalid)
	}
	created := apicall.New[*orchv1.WorkPool](orchv1.WorkPoolService_CreateWorkPool_FullMethodName, apicall.Input{Body: body})
	if err := r.Call(created); err != nil {
		return refusedForm(r, showWorkPools, err)
	}
	return r.Done(r.To("work-pools", "work-pool", created.Result().GetName()), "pool-create", -1), nil
}

// poolForms are the forms of the page of a work pool.
func poolForms(r *page.Request, p *orchv1.WorkPool) (forms []form) {
	if r.May(orchv1.WorkPoolService_CreateWorkPoolQueue_FullMethodName) {
		forms = append(forms, form{
			Title: "New work queue", Action: "queue-create", Button: "Create the work queue",
			Fields: append([]field{{Name: "name", Label: "Name", Required: true, Max: 500}}, queueFields(&orchv1.WorkQueue{})...),
		})
	}
	if r.May(orchv1.WorkPoolService_UpdateWorkPool_FullMethodName) {
		forms = append(forms, form{
			Title: "Settings", Action: "pool-edit", Button: "Save the work pool", Hidden: versionField(p.GetUpdated()),
			Fields: []field{
				{Name: "description", Label: "Description", Value: p.GetDescription(), Max: 1024},
				limitField(p.ConcurrencyLimit),
				{Name: "base_job_template", Label: "Job template", Kind: "textarea", Value: indentJSON(p.GetBaseJobTemplate()), Hint: "JSON. An empty object is filled by the first worker."},
			},
		})
	}
	return forms
}

func readPool(r *page.Request) (*orchv1.WorkPool, error) {
	name, err := poolName(r)
	if err != nil {
		return nil, err
	}
	pool := apicall.New[*orchv1.WorkPool](orchv1.WorkPoolService_ReadWorkPool_FullMethodName, apicall.Input{Path: map[string]string{"name": name}})
	err = r.Call(pool)
	return pool.Result(), err
}

func editPool(r *page.Request) (page.View, error) {
	p, err := readPool(r)
	if err != nil {
		return page.View{}, err
	}
	var problems []string
	invalid := map[string]bool{}
	body := apicall.JSON{"description": r.Field("description"), "concurrency_limit": readNumber(r, "concurrency_limit", &problems, invalid)}
	if template := r.Field("base_job_template"); template != "" {
		if !json.Valid([]byte(template)) {
			problems, invalid["base_job_template"] = append(problems, "base_job_template: not JSON"), true
		}
		body["base_job_template"] = json.RawMessage(template)
	}
	switch {
	case problems != nil:
		return invalidForm(r, showWorkPool, problems, invalid)
	case changedMeanwhile(r, p.GetUpdated()):
		return conflictingForm(r, showWorkPool)
	}
	if err := r.Call(changed(orchv1.WorkPoolService_UpdateWorkPool_FullMethodName, apicall.Input{Path: map[string]string{"name": p.GetName()}, Body: body})); err != nil {
		return refusedForm(r, showWorkPool, err)
	}
	return r.Done(r.Path(), "pool-edit", -1), nil
}

func deletePool(r *page.Request) (page.View, error) {
	p, err := readPool(r)
	if err != nil {
		return page.View{}, err
	}
	if !confirmed(r) {
		return confirm(r, confirmView{
			Title: "Delete the work pool?", Action: "pool-delete", Button: "Delete the work pool",
			Text: "The work pool " + show.Line(p.GetName(), 80) + ", its queues and workers are deleted. Its deployments stay and have no work pool.",
		}), nil
	}
	if err := r.Call(changed(orchv1.WorkPoolService_DeleteWorkPool_FullMethodName, apicall.Input{Path: map[string]string{"name": p.GetName()}})); err != nil {
		return page.View{}, err
	}
	return r.Done(r.To("work-pools"), "pool-delete", -1), nil
}

// queueFields are the settings of a work queue.
func queueFields(q *orchv1.WorkQueue) []field {
	priority := ""
	if q.GetPriority() > 0 {
		priority = strconv.FormatInt(q.GetPriority(), 10)
	}
	return []field{
		{Name: "description", Label: "Description", Value: q.GetDescription(), Max: 1024},
		{Name: "priority", Label: "Priority", Kind: "number", Value: priority, Hint: "Workers serve 1 first, then 2. Empty means the last."},
		limitField(q.ConcurrencyLimit),
	}
}

func queueBody(r *page.Request) (body apicall.JSON, problems []string, invalid map[string]bool) {
	invalid = map[string]bool{}
	body = apicall.JSON{"description": r.Field("description"), "concurrency_limit": readNumber(r, "concurrency_limit", &problems, invalid)}
	if priority := readNumber(r, "priority", &problems, invalid); priority != nil {
		body["priority"] = priority
	}
	return body, problems, invalid
}

func createQueue(r *page.Request) (page.View, error) {
	name, err := poolName(r)
	if err != nil {
		return page.View{}, err
	}
	body, problems, invalid := queueBody(r)
	if problems != nil {
		return invalidForm(r, showWorkPool, problems, invalid)
	}
	body["name"] = r.Field("name")
	created := apicall.New[*orchv1.WorkQueue](orchv1.WorkPoolService_CreateWorkPoolQueue_FullMethodName, apicall.Input{Path: map[string]string{"work_pool_name": name}, Body: body})
	if err := r.Call(created); err != nil {
		return refusedForm(r, showWorkPool, err)
	}
	return r.Done(r.Path(), "queue-create", -1), nil
}

// queueInput is the input of an operation on a queue of the page's pool.
func queueInput(r *page.Request, queue string, body any) (apicall.Input, error) {
	name, err := poolName(r)
	return apicall.Input{Path: map[string]string{"work_pool_name": name, "name": queue}, Body: body}, err
}

func pauseQueue(action string, paused bool) func(*page.Request) (page.View, error) {
	return func(r *page.Request) (page.View, error) {
		in, err := queueInput(r, r.Form.Get("queue"), apicall.JSON{"is_paused": paused})
		if err != nil {
			return page.View{}, err
		}
		if err := r.Call(changed(orchv1.WorkPoolService_UpdateWorkPoolQueue_FullMethodName, in)); err != nil {
			return page.View{}, err
		}
		return r.Done(r.Path(), action, -1), nil
	}
}

func removeWorker(r *page.Request) (page.View, error) {
	name, err := poolName(r)
	if err != nil {
		return page.View{}, err
	}
	in := apicall.Input{Path: map[string]string{"work_pool_name": name, "name": r.Form.Get("worker")}}
	if err := r.Call(changed(orchv1.WorkPoolService_DeleteWorker_FullMethodName, in)); err != nil {
		return page.View{}, err
	}
	return r.Done(r.Path(), "worker-remove", -1), nil
}

func readQueue(r *page.Request) (*orchv1.WorkQueue, error) {
	in, err := queueInput(r, r.Vars["queue"], nil)
	if err != nil {
		return nil, err
	}
	queue := apicall.New[*orchv1.WorkQueue](orchv1.WorkPoolService_ReadWorkPoolQueue_FullMethodName, in)
	err = r.Call(queue)
	return queue.Result(), err
}

func showQueue(r *page.Request) (page.View, error) {
	q, err := readQueue(r)
	if err != nil {
		return page.View{}, err
	}
	v := detailView{
		Kind: "Work queue", Title: show.Line(q.GetName(), 80), ID: show.ID(q.GetId()),
		Pairs: pairs(
			pair{"Work pool", link(r.To("work-pools", "work-pool", q.GetWorkPoolName()), q.GetWorkPoolName())}, pair{"Description", text(q.GetDescription())},
			pair{"Priority", text(strconv.FormatInt(q.GetPriority(), 10))}, pair{"Paused", yes(q.GetIsPaused(), "yes", "no")},
			pair{"Slots", slots(q.GetActiveSlots(), q.ConcurrencyLimit)}, pair{"Last polled", timeCell(r, q.GetLastPolled())},
			pair{"Created", timeCell(r, q.GetCreated())}, pair{"Updated", timeCell(r, q.GetUpdated())},
		),
	}
	if r.May(orchv1.WorkPoolService_UpdateWorkPoolQueue_FullMethodName) {
		v.Forms = append(v.Forms, form{Title: "Settings", Action: "queue-edit", Button: "Save the work queue", Fields: queueFields(q), Hidden: versionField(q.GetUpdated())})
	}
	if r.May(orchv1.WorkPoolService_DeleteWorkPoolQueue_FullMethodName) {
		v.Buttons = append(v.Buttons, button{Action: "queue-delete", Title: "Delete", Class: "danger"})
	}
	return page.View{Title: v.Title, Template: "detail.html", Data: v}, nil
}

func editQueue(r *page.Request) (page.View, error) {
	q, err := readQueue(r)
	if err != nil {
		return page.View{}, err
	}
	body, problems, invalid := queueBody(r)
	switch {
	case problems != nil:
		return invalidForm(r, showQueue, problems, invalid)
	case changedMeanwhile(r, q.GetUpdated()):
		return conflictingForm(r, showQueue)
	}
	in, err := queueInput(r, q.GetName(), body)
	if err != nil {
		return page.View{}, err
	}
	if err := r.Call(changed(orchv1.WorkPoolService_UpdateWorkPoolQueue_FullMethodName, in)); err != nil {
		return refusedForm(r, showQueue, err)
	}
	return r.Done(r.Path(), "queue-edit", -1), nil
}

func deleteQueue(r *page.Request) (page.View, error) {
	if !confirmed(r) {
		return confirm(r, confirmView{
			Title: "Delete the work queue?", Action: "queue-delete", Button: "Delete the work queue", Text: "Deployments of the queue schedule runs that no worker gets, until they name another queue.",
		}), nil
	}
	in, err := queueInput(r, r.Vars["queue"], nil)
	if err != nil {
		return page.View{}, err
	}
	if err := r.Call(changed(orchv1.WorkPoolService_DeleteWorkPoolQueue_FullMethodName, in)); err != nil {
		return page.View{}, err
	}
	return r.Done(r.To("work-pools", "work-pool", in.Path["work_pool_name"]), "queue-delete", -1), nil
}

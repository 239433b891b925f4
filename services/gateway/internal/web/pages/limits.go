package pages

import (
	"fmt"
	"strconv"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/gateway/internal/web/apicall"
	"github.com/orch-project/orch/services/gateway/internal/web/page"
	"github.com/orch-project/orch/services/gateway/internal/web/show"
)

// limitPages are the list of concurrency limits and the page of one.
func limitPages() []page.Page {
	return []page.Page{
		{
			Pattern: "/concurrency-limits", Section: "/concurrency-limits",
			Needs: []string{orchv1.ConcurrencyLimitV2Service_ReadAllConcurrencyLimitsV2_FullMethodName},
			Uses:  []string{orchv1.ConcurrencyLimitService_ReadConcurrencyLimits_FullMethodName},
			Show:  showLimits,
			Actions: []page.Action{{
				Name: "limit-create", Calls: []string{orchv1.ConcurrencyLimitV2Service_CreateConcurrencyLimitV2_FullMethodName}, Done: "The limit is created.", Do: createLimit,
			}},
		},
		{
			Pattern: "/concurrency-limits/concurrency-limit/{id}", Section: "/concurrency-limits",
			Needs: []string{orchv1.ConcurrencyLimitV2Service_ReadConcurrencyLimitV2_FullMethodName},
			Uses:  []string{orchv1.ConcurrencyLimitV2Service_ReadConcurrencyLimitSlots_FullMethodName},
			Show:  showLimit,
			Actions: []page.Action{
				{Name: "limit-edit", Calls: []string{orchv1.ConcurrencyLimitV2Service_UpdateConcurrencyLimitV2_FullMethodName}, Done: "The limit is changed.", Do: editLimit},
				{Name: "limit-delete", Calls: []string{orchv1.ConcurrencyLimitV2Service_DeleteConcurrencyLimitV2_FullMethodName}, Done: "The limit is deleted.", Do: deleteLimit},
			},
		},
	}
}

// limitFields are the fields of a limit.
func limitFields(l *orchv1.DeploymentConcurrencyLimit) []field {
	slots, decay, active := "", "0", true
	if l != nil {
		slots, decay, active = strconv.FormatInt(l.GetLimit(), 10), strconv.FormatFloat(l.GetSlotDecayPerSecond(), 'g', -1, 64), l.GetActive()
	}
	return []field{
		{Name: "name", Label: "Name", Value: l.GetName(), Required: true, Max: 500},
		{Name: "limit", Label: "Slots", Kind: "number", Value: slots, Required: true},
		{Name: "slot_decay_per_second", Label: "Slots released per second", Value: decay, Hint: "0 keeps a slot until it is released; another number makes the limit a rate."},
		{Name: "active", Label: "Active", Kind: "checkbox", Checked: active},
	}
}

// limitBody returns the fields of a form, and what does not read as a number.
func limitBody(r *page.Request) (body apicall.JSON, problems []string, invalid map[string]bool) {
	body, invalid = apicall.JSON{"name": r.Field("name"), "active": r.Field("active") != ""}, map[string]bool{}
	limit, err := strconv.ParseInt(r.Field("limit"), 10, 64)
	if err != nil {
		problems, invalid["limit"] = append(problems, "limit: not a whole number"), true
	}
	body["limit"] = limit
	if typed := r.Field("slot_decay_per_second"); typed != "" {
		decay, err := strconv.ParseFloat(typed, 64)
		if err != nil {
			problems, invalid["slot_decay_per_second"] = append(problems, "slot_decay_per_second: not a number"), true
		}
		body["slot_decay_per_second"] = decay
	}
	return body, problems, invalid
}

func showLimits(r *page.Request) (page.View, error) {
	limits := apicall.New[*orchv1.GlobalConcurrencyLimitList](orchv1.ConcurrencyLimitV2Service_ReadAllConcurrencyLimitsV2_FullMethodName, apicall.Input{Body: apicall.JSON{}})
	tags := apicall.New[*orchv1.ConcurrencyLimitList](orchv1.ConcurrencyLimitService_ReadConcurrencyLimits_FullMethodName, apicall.Input{Body: apicall.JSON{}})
	_ = r.Call(limits, tags)
	if err := limits.Err(); err != nil {
		return page.View{}, err
	}
	v := listView{Title: "Concurrency limits", Problems: problems(tags), Table: table{
		Columns: []string{"Limit", "Kind", "Slots", "Active"}, Empty: "No limit: nothing restricts how many runs execute at once.",
	}}
	for _, l := range limits.Result().GetLimits() {
		total := l.GetLimit()
		v.Table.add(link(r.To("concurrency-limits", "concurrency-limit", l.GetId()), l.GetName()), text("global"), slots(l.GetActiveSlots(), &total), yes(l.GetActive(), "active", "inactive"))
	}
	for _, l := range tags.Result().GetLimits() {
		total := l.GetConcurrencyLimit()
		v.Table.add(text(l.GetTag()), text("tag of task runs"), slots(int64(len(l.GetActiveSlots())), &total), text("active"))
	}
	if r.May(orchv1.ConcurrencyLimitV2Service_CreateConcurrencyLimitV2_FullMethodName) {
		v.Forms = append(v.Forms, form{
			Title: "New limit", Text: "A limit named tag:NAME restricts the task runs with the tag NAME.", Action: "limit-create", Button: "Create the limit", Fields: limitFields(nil),
		})
	}
	return page.View{Title: v.Title, Template: "list.html", Data: v}, nil
}

func createLimit(r *page.Request) (page.View, error) {
	body, problems, invalid := limitBody(r)
	if problems != nil {
		return invalidForm(r, showLimits, problems, invalid)
	}
	created := apicall.New[*orchv1.ConcurrencyLimitV2](orchv1.ConcurrencyLimitV2Service_CreateConcurrencyLimitV2_FullMethodName, apicall.Input{Body: body})
	if err := r.Call(created); err != nil {
		return refusedForm(r, showLimits, err)
	}
	return r.Done(r.To("concurrency-limits", "concurrency-limit", created.Result().GetId()), "limit-create", -1), nil
}

func readLimit(r *page.Request) (*orchv1.DeploymentConcurrencyLimit, error) {
	limit := apicall.New[*orchv1.DeploymentConcurrencyLimit](orchv1.ConcurrencyLimitV2Service_ReadConcurrencyLimitV2_FullMethodName, limitInput(r, nil))
	err := r.Call(limit)
	return limit.Result(), err
}

// limitInput is the input of an operation on the limit of the page.
func limitInput(r *page.Request, body any) apicall.Input {
	return apicall.Input{Path: map[string]string{"id_or_name": r.Vars["id"]}, Body: body}
}

func showLimit(r *page.Request) (page.View, error) {
	l, err := readLimit(r)
	if err != nil {
		return page.View{}, err
	}
	total := l.GetLimit()
	v := detailView{
		Kind: "Concurrency limit", Title: show.Line(l.GetName(), 80), ID: show.ID(l.GetId()),
		Pairs: pairs(
			pair{"Slots", slots(l.GetActiveSlots(), &total)}, pair{"Active", yes(l.GetActive(), "yes", "no")},
			pair{"Slots released per second", text(fmt.Sprintf("%g", l.GetSlotDecayPerSecond()))},
			pair{"Created", timeCell(r, l.GetCreated())}, pair{"Updated", timeCell(r, l.GetUpdated())},
		),
	}
	v.Panels = slotPanels(r)
	if r.May(orchv1.ConcurrencyLimitV2Service_UpdateConcurrencyLimitV2_FullMethodName) {
		v.Forms = append(v.Forms, form{Title: "Settings", Action: "limit-edit", Button: "Save the limit", Fields: limitFields(l), Hidden: versionField(l.GetUpdated())})
	}
	if r.May(orchv1.ConcurrencyLimitV2Service_DeleteConcurrencyLimitV2_FullMethodName) {
		v.Buttons = append(v.Buttons, button{Action: "limit-delete", Title: "Delete", Class: "danger"})
	}
	return page.View{Title: v.Title, Template: "detail.html", Data: v}, nil
}

func editLimit(r *page.Request) (page.View, error) {
	body, problems, invalid := limitBody(r)
	if problems != nil {
		return invalidForm(r, showLimit, problems, invalid)
	}
	current, err := readLimit(r)
	if err != nil {
		return page.View{}, err
	}
	if changedMeanwhile(r, current.GetUpdated()) {
		return conflictingForm(r, showLimit)
	}
	if err := r.Call(changed(orchv1.ConcurrencyLimitV2Service_UpdateConcurrencyLimitV2_FullMethodName, limitInput(r, body))); err != nil {
		return refusedForm(r, showLimit, err)
	}
	return r.Done(r.Path(), "limit-edit", -1), nil
}

func deleteLimit(r *page.Request) (page.View, error) {
	if !confirmed(r) {
		limit, err := readLimit(r)
		if err != nil {
			return page.View{}, err
		}
		return confirm(r, confirmView{
			Title: "Delete the limit?", Action: "limit-delete", Button: "Delete the limit",
			Text: fmt.Sprintf("%d of its slots are taken. Runs that wait for %s go on without a limit.", limit.GetActiveSlots(), show.Line(limit.GetName(), 80)),
		}), nil
	}
	if err := r.Call(changed(orchv1.ConcurrencyLimitV2Service_DeleteConcurrencyLimitV2_FullMethodName, limitInput(r, nil))); err != nil {
		return page.View{}, err
	}
	return r.Done(r.To("concurrency-limits"), "limit-delete", -1), nil
}

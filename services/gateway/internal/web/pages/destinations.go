package pages

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/orch-project/orch/pkg/restjson"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/gateway/internal/web/apicall"
	"github.com/orch-project/orch/services/gateway/internal/web/markup"
	"github.com/orch-project/orch/services/gateway/internal/web/page"
	"github.com/orch-project/orch/services/gateway/internal/web/show"
)

// destinationPages are the list of destinations, the page of a destination, and the page of a delivery.
func destinationPages() []page.Page {
	const section = "/destinations"
	return []page.Page{
		{
			Pattern: section, Section: section, Needs: []string{orchv1.DestinationService_ReadDestinations_FullMethodName}, Show: showDestinations,
			Actions: []page.Action{{
				Name: "destination-create", Calls: []string{orchv1.DestinationService_CreateDestination_FullMethodName}, Done: "The destination is created.", Do: createDestination,
			}},
		},
		{
			Pattern: section + "/destination/{id}", Section: section,
			Needs: []string{orchv1.DestinationService_ReadDestination_FullMethodName},
			Uses:  []string{orchv1.DestinationService_ReadDestinationDeliveries_FullMethodName},
			Show:  showDestination,
			Actions: []page.Action{
				{Name: "destination-edit", Calls: []string{orchv1.DestinationService_UpdateDestination_FullMethodName}, Done: "The destination is changed.", Do: editDestination},
				{Name: "destination-enable", Calls: []string{orchv1.DestinationService_UpdateDestination_FullMethodName}, Done: "The destination is enabled.", Do: enableDestination("destination-enable", true)},
				{Name: "destination-disable", Calls: []string{orchv1.DestinationService_UpdateDestination_FullMethodName}, Done: "The destination is disabled; its deliveries wait.", Do: enableDestination("destination-disable", false)},
				{Name: "destination-resend", Calls: []string{orchv1.DestinationService_ResendDestinationDeliveries_FullMethodName}, Done: "The failed deliveries are sent again.", Do: resendFailed},
				{Name: "destination-delete", Calls: []string{orchv1.DestinationService_DeleteDestination_FullMethodName}, Done: "The destination is deleted.", Do: deleteDestination},
			},
		},
		{
			Pattern: section + "/destination/{id}/delivery/{delivery_id}", Section: section,
			Needs: []string{orchv1.DestinationService_ReadDestinationDelivery_FullMethodName}, Show: showDestinationDelivery,
			Actions: []page.Action{{
				Name: "delivery-resend", Calls: []string{orchv1.DestinationService_ResendDestinationDeliveries_FullMethodName}, Done: "The delivery is sent again.", Do: resendDelivery,
			}},
		},
	}
}

// destinationFields are the fields of a destination. Secrets are empty: the server never shows them.
func destinationFields(d *orchv1.Destination) []field {
	subscriptions, rate, retry := `[{"events": ["order.*"]}]`, "", "604800"
	if d != nil {
		raws := make([]json.RawMessage, 0, len(d.GetSubscriptions()))
		for _, one := range d.GetSubscriptions() {
			if raw, err := restjson.Marshal(one); err == nil {
				raws = append(raws, raw)
			}
		}
		all, _ := json.Marshal(raws) //nolint:errchkjson // They are JSON.
		subscriptions, retry = indentJSON(all), strconv.FormatInt(d.GetRetryFor(), 10)
		if d.RateLimit != nil {
			rate = strconv.FormatInt(d.GetRateLimit(), 10)
		}
	}
	kept := ""
	if d != nil {
		kept = " Empty keeps those that are stored."
	}
	fields := []field{
		{Name: "name", Label: "Name", Value: d.GetName(), Required: true, Max: 255},
		{Name: "url", Label: "Address", Value: d.GetUrl(), Required: true, Max: 2048, Hint: "It receives POST requests."},
		{Name: "subscriptions", Label: "Subscriptions", Kind: "textarea", Value: subscriptions, Required: true, Hint: `A JSON list; each has "events", and optionally "filter" and "template".`},
		{Name: "headers", Label: "Headers", Kind: "textarea", Hint: "One on a line, as Name: value." + kept},
		{Name: "secret", Label: "Secret of signatures", Kind: "password", Hint: "whsec_ and base64, after Standard Webhooks." + kept},
		{Name: "ordered_by", Label: "Order by labels", Value: strings.Join(d.GetOrderedBy(), ", "), Hint: "Separated by commas; deliveries with equal values keep their order."},
		{Name: "rate_limit", Label: "Deliveries per second", Kind: "number", Value: rate, Hint: "Empty for no limit."},
		{Name: "retry_for", Label: "Seconds for attempts", Kind: "number", Value: retry, Required: true},
		{Name: "description", Label: "Description", Kind: "textarea", Value: d.GetDescription()},
	}
	return append(fields, connectionFields(d)...)
}

// destinationBody returns the fields of a form, and what cannot be sent. A secret that is empty and an address that is still the shown one are
// not sent.
func destinationBody(r *page.Request, shown *orchv1.Destination) (body apicall.JSON, problems []string, invalid map[string]bool) {
	invalid = map[string]bool{}
	refuse := func(name, problem string) {
		problems, invalid[name] = append(problems, name+": "+problem), true
	}
	body = apicall.JSON{
		"name": r.Field("name"), "description": newlines(r.Form.Get("description")), "ordered_by": tagList(r.Field("ordered_by")), "rate_limit": nil,
	}
	if subscriptions := []byte(r.Field("subscriptions")); json.Valid(subscriptions) {
		body["subscriptions"] = json.RawMessage(subscriptions)
	} else {
		refuse("subscriptions", "not valid JSON")
	}
	for _, name := range []string{"rate_limit", "retry_for"} {
		typed := r.Field(name)
		if typed == "" {
			continue
		}
		n, err := strconv.ParseInt(typed, 10, 64)
		if err != nil {
			refuse(name, "not a whole number")
		}
		body[name] = n
	}
	if address := r.Field("url"); shown == nil || address != shown.GetUrl() {
		body["url"] = address
	}
	if secret := r.Field("secret"); secret != "" {
		body["secret"] = secret
	}
	if typed := lines(r.Form.Get("headers")); len(typed) > 0 {
		headers := map[string]string{}
		for _, line := range typed {
			name, value, found := strings.Cut(line, ":")
			if !found {
				refuse("headers", "a line lacks its colon")
			}
			headers[strings.TrimSpace(name)] = strings.TrimSpace(value)
		}
		body["headers"] = headers
	}
	addConnection(r, shown, body, refuse)
	return body, problems, invalid
}

// destinationHealth is the badge of a destination's health.
func destinationHealth(r *page.Request, d *orchv1.Destination) markup.Markup {
	h := d.GetHealth()
	status := strings.ToLower(strings.TrimPrefix(h.GetStatus().String(), "DESTINATION_STATUS_"))
	if !d.GetEnabled() {
		status = "disabled"
	}
	since := markup.Markup{}
	if h.Since != nil {
		since = clockOf(r).Time(h.GetSince())
	}
	return show.Health(status, status != "healthy", since, show.Line(h.GetCause(), 200))
}

func showDestinations(r *page.Request) (page.View, error) {
	body, q, skip, err := listBody(r, "destinations", "NAME_ASC")
	if err != nil {
		return page.View{}, err
	}
	destinations := apicall.New[*orchv1.DestinationList](orchv1.DestinationService_ReadDestinations_FullMethodName, apicall.Input{Body: body})
	if err := r.Call(destinations); err != nil {
		return page.View{}, err
	}
	list, more := cut(destinations.Result().GetDestinations(), param50)
	v := listView{Title: "Destinations", Search: true, Q: q, Path: r.Path(), Table: table{
		Columns: []string{"Destination", "Address", "Receives", "Health"},
		Empty:   "No destination. A destination receives events by POST requests that are stored until it accepts them.",
	}}
	for _, d := range list {
		v.Table.add(link(r.To("destinations", "destination", d.GetId()), d.GetName()), text(d.GetUrl()), text(receives(d)), mark(destinationHealth(r, d)))
	}
	if more {
		v.Table.Older = r.Here("skip", show.Digits(skip+param50))
	}
	if r.May(orchv1.DestinationService_CreateDestination_FullMethodName) {
		v.Forms = append(v.Forms, form{Title: "New destination", Action: "destination-create", Button: "Create the destination", Fields: destinationFields(nil)})
	}
	return page.View{Title: "Destinations", Template: "list.html", Data: v}, nil
}

// receives names the events of a destination.
func receives(d *orchv1.Destination) string {
	if d.BlockDocumentId != nil {
		return "calls and notifications of automations"
	}
	var names []string
	for _, one := range d.GetSubscriptions() {
		names = append(names, one.GetEvents()...)
	}
	return strings.Join(names, ", ")
}

func createDestination(r *page.Request) (page.View, error) {
	body, problems, invalid := destinationBody(r, nil)
	if len(problems) > 0 {
		return invalidForm(r, showDestinations, problems, invalid)
	}
	created := apicall.New[*orchv1.Destination](orchv1.DestinationService_CreateDestination_FullMethodName, apicall.Input{Body: body})
	if err := r.Call(created); err != nil {
		return refusedForm(r, showDestinations, err)
	}
	return r.Done(r.To("destinations", "destination", created.Result().GetId()), "destination-create", -1), nil
}

func editDestination(r *page.Request) (page.View, error) {
	current, err := readDestination(r)
	if err != nil {
		return page.View{}, err
	}
	body, problems, invalid := destinationBody(r, current)
	if len(problems) > 0 {
		return invalidForm(r, showDestination, problems, invalid)
	}
	if changedMeanwhile(r, current.GetUpdated()) {
		return conflictingForm(r, showDestination)
	}
	if err := r.Call(changed(orchv1.DestinationService_UpdateDestination_FullMethodName, apicall.Input{Path: map[string]string{"id": r.Vars["id"]}, Body: body})); err != nil {
		return refusedForm(r, showDestination, err)
	}
	return r.Done(r.Path(), "destination-edit", -1), nil
}

func enableDestination(name string, enabled bool) func(*page.Request) (page.View, error) {
	return func(r *page.Request) (page.View, error) {
		if err := r.Call(changed(orchv1.DestinationService_UpdateDestination_FullMethodName, apicall.Input{
			Path: map[string]string{"id": r.Vars["id"]}, Body: apicall.JSON{"enabled": enabled},
		})); err != nil {
			return page.View{}, err
		}
		return r.Done(r.Here(), name, -1), nil
	}
}

func deleteDestination(r *page.Request) (page.View, error) {
	if !confirmed(r) {
		return confirm(r, confirmView{
			Title: "Delete the destination?", Action: "destination-delete", Button: "Delete the destination",
			Text: "Its deliveries are deleted too, and those that wait are not sent.",
		}), nil
	}
	if err := r.Call(changed(orchv1.DestinationService_DeleteDestination_FullMethodName, apicall.ID(r.Vars["id"]))); err != nil {
		return page.View{}, err
	}
	return r.Done(r.To("destinations"), "destination-delete", -1), nil
}

// resend sends deliveries of the page's destination again: the filter selects them, and nil selects the failed ones.
func resend(r *page.Request, filter any) error {
	in := apicall.ID(r.Vars["id"])
	in.Body = apicall.JSON{"destination_deliveries": filter}
	return r.Call(apicall.New[*orchv1.DestinationResend](orchv1.DestinationService_ResendDestinationDeliveries_FullMethodName, in))
}

func resendFailed(r *page.Request) (page.View, error) {
	if err := resend(r, nil); err != nil {
		return page.View{}, err
	}
	return r.Done(r.Here(), "destination-resend", -1), nil
}

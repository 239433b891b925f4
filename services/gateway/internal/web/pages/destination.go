package pages

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/gateway/internal/web/apicall"
	"github.com/orch-project/orch/services/gateway/internal/web/page"
	"github.com/orch-project/orch/services/gateway/internal/web/show"
)

func readDestination(r *page.Request) (*orchv1.Destination, error) {
	destination := apicall.New[*orchv1.Destination](orchv1.DestinationService_ReadDestination_FullMethodName, apicall.ID(r.Vars["id"]))
	err := r.Call(destination)
	return destination.Result(), err
}

// deliveryStates are the tabs of a destination: the values of the parameter delivery and their titles.
var deliveryStates = [][2]string{{"", "All"}, {"pending", "Waiting"}, {"failed", "Failed"}, {"delivered", "Delivered"}}

func showDestination(r *page.Request) (page.View, error) {
	state, skip := r.Text("delivery"), r.Int("skip", 0, 1_000_000, 0)
	if err := r.Err(); err != nil {
		return page.View{}, err
	}
	d, err := readDestination(r)
	if err != nil {
		return page.View{}, err
	}
	in := apicall.ID(d.GetId())
	body := apicall.JSON{"limit": param50 + 1, "offset": skip}
	if state != "" {
		body["destination_deliveries"] = apicall.JSON{"state": any_([]string{state})}
	}
	in.Body = body
	deliveries := apicall.New[*orchv1.DestinationDeliveryList](orchv1.DestinationService_ReadDestinationDeliveries_FullMethodName, in)
	_ = r.Call(deliveries) // The panel of deliveries shows an error.
	list, more := cut(deliveries.Result().GetDeliveries(), param50)
	log := &table{Columns: []string{"Delivery", "Event", "State", "Attempts", "Next attempt", "Error"}, Empty: "No delivery."}
	for _, one := range list {
		log.add(link(r.To("destinations", "destination", d.GetId(), "delivery", one.GetId()), show.Prefix(one.GetId(), 8)), text(one.GetEvent()),
			text(deliveryState(one)), count(one.GetAttempts()), timeCell(r, one.NextAttempt), optionalText(one.Error))
	}
	if more {
		log.Older = r.Here("skip", show.Digits(skip+param50))
	}
	v := detailView{
		Kind: "Destination", Title: show.Line(d.GetName(), 80), ID: show.ID(d.GetId()), Badge: destinationHealth(r, d), Description: show.Markdown(d.GetDescription()),
		Pairs: pairs(
			pair{"Address", text(d.GetUrl())}, pair{"Receives", text(receives(d))}, pair{"Headers", text(strings.Join(d.GetHeaderNames(), ", "))},
			pair{"Signed", yes(d.GetSigned(), "yes", "no")}, pair{"Order by", text(strings.Join(d.GetOrderedBy(), ", "))},
			pair{"Token endpoint", text(d.GetOauth().GetTokenUrl())}, pair{"Proxy", optionalText(d.Proxy)},
			pair{"Next probe", timeCell(r, d.GetHealth().NextProbe)}, pair{"Updated", timeCell(r, d.GetUpdated())},
		),
		Panels: []panel{{Title: "Deliveries", Table: log, Problem: page.Problem(deliveries.Err())}},
	}
	for _, one := range deliveryStates {
		v.Tabs = append(v.Tabs, tab{Title: one[1], Path: r.Here("delivery", one[0], "skip", ""), Current: state == one[0]})
	}
	if r.May(orchv1.DestinationService_UpdateDestination_FullMethodName) {
		toggle := button{Action: "destination-enable", Title: "Enable"}
		if d.GetEnabled() {
			toggle = button{Action: "destination-disable", Title: "Disable"}
		}
		v.Buttons = append(v.Buttons, toggle)
	}
	if r.May(orchv1.DestinationService_ResendDestinationDeliveries_FullMethodName) {
		v.Buttons = append(v.Buttons, button{Action: "destination-resend", Title: "Resend what failed"})
	}
	if d.BlockDocumentId != nil { // The block has the settings.
		v.Links = append(v.Links, tab{Title: "Block", Path: r.To("blocks", "block", d.GetBlockDocumentId())})
		return page.View{Title: v.Title, Template: "detail.html", Data: v}, nil
	}
	if r.May(orchv1.DestinationService_UpdateDestination_FullMethodName) {
		v.Forms = append(v.Forms, form{
			Title: "Settings", Action: "destination-edit", Button: "Save the destination", Fields: destinationFields(d), Hidden: versionField(d.GetUpdated()),
		})
	}
	if r.May(orchv1.DestinationService_DeleteDestination_FullMethodName) {
		v.Buttons = append(v.Buttons, button{Action: "destination-delete", Title: "Delete", Class: "danger"})
	}
	return page.View{Title: v.Title, Template: "detail.html", Data: v}, nil
}

// deliveryState is a word for the state of a delivery.
func deliveryState(d *orchv1.DestinationDelivery) string {
	if d.GetState() == orchv1.DestinationDeliveryState_DESTINATION_DELIVERY_STATE_PENDING {
		return "waiting"
	}
	return strings.ToLower(strings.TrimPrefix(d.GetState().String(), "DESTINATION_DELIVERY_STATE_"))
}

func showDestinationDelivery(r *page.Request) (page.View, error) {
	delivery := apicall.New[*orchv1.DestinationDelivery](orchv1.DestinationService_ReadDestinationDelivery_FullMethodName,
		apicall.Input{Path: map[string]string{"id": r.Vars["id"], "delivery_id": r.Vars["delivery_id"]}})
	if err := r.Call(delivery); err != nil {
		return page.View{}, err
	}
	d := delivery.Result()
	attempts := &table{Columns: []string{"Attempted", "Took", "Status", "Error", "Response"}, Empty: "No attempt yet."}
	for _, one := range d.GetLog() {
		status := cell{}
		if one.Status != nil {
			status = text(strconv.FormatInt(one.GetStatus(), 10))
		}
		attempts.add(timeCell(r, one.GetAttempted()), text(show.Duration(time.Duration(one.GetLatency()*float64(time.Second)))), status, optionalText(one.Error), text(one.GetResponseBody()))
	}
	headers, _ := json.Marshal(d.GetHeaders()) //nolint:errchkjson // They are texts.
	v := detailView{
		Kind: "Delivery", Title: show.Line(d.GetEvent(), 80), ID: show.ID(d.GetId()),
		Links: []tab{{Title: "Destination", Path: r.To("destinations", "destination", d.GetDestinationId())}},
		Pairs: pairs(
			pair{"State", text(deliveryState(d))}, pair{"Error", optionalText(d.Error)}, pair{"Address", text(strings.TrimSpace(d.GetMethod() + " " + d.GetAddress()))},
			pair{"Event", link(r.To("events", "event", stamp(d.GetQueued().AsTime())[:10], d.GetEventId()), d.GetEventId())},
			pair{"Attempts", count(d.GetAttempts())}, pair{"Queued", timeCell(r, d.GetQueued())}, pair{"Next attempt", timeCell(r, d.NextAttempt)},
			pair{"Finished", timeCell(r, d.Finished)},
		),
		Panels: []panel{{Title: "Attempts", Table: attempts}, {Title: "Headers", Body: show.JSON(headers)}, {Title: "Body", Body: show.Preformatted(d.GetBody())}},
	}
	if d.AutomationId != nil {
		v.Links = append(v.Links, tab{Title: "Automation", Path: r.To("automations", "automation", d.GetAutomationId())})
	}
	if r.May(orchv1.DestinationService_ResendDestinationDeliveries_FullMethodName) {
		v.Buttons = append(v.Buttons, button{Action: "delivery-resend", Title: "Resend"})
	}
	return page.View{Title: v.Title, Template: "detail.html", Data: v}, nil
}

func resendDelivery(r *page.Request) (page.View, error) {
	if err := resend(r, apicall.JSON{"id": any_([]string{r.Vars["delivery_id"]})}); err != nil {
		return page.View{}, err
	}
	return r.Done(r.Here(), "delivery-resend", -1), nil
}

package pages

import (
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/gateway/internal/web/apicall"
	"github.com/orch-project/orch/services/gateway/internal/web/page"
	"github.com/orch-project/orch/services/gateway/internal/web/show"
)

// maxDeletions bounds the calls of one form, so that its response comes in time. The reader continues.
const maxDeletions = 20

// deleteDeliveries deletes the deliveries that match the filter of the address.
func deleteDeliveries(r *page.Request) (page.View, error) {
	f := readDeliveryFilter(r, deliveriesFrom)
	if err := r.Err(); err != nil {
		return page.View{}, err
	}
	if !confirmed(r) {
		v := confirmView{
			Title: "Delete the deliveries that match?", Action: "deliveries-delete", Button: "Delete the deliveries",
			Text: "Their requests are deleted from the log, from all its pages. Their events stay.",
		}
		if f.Text != "" {
			v.Checks = []field{{Name: "samples", Label: "Delete the samples that contain the text, too"}}
		}
		return confirm(r, v), nil
	}
	var deleted int64
	body := f.search(f.criteria(f.Window.From, f.Window.To), apicall.JSON{})
	if f.Text != "" && r.Field("samples") != "" {
		body["samples"] = true
	}
	for range maxDeletions {
		in := apicall.ID(r.Vars["id"])
		in.Body = body
		deletion := apicall.New[*orchv1.WebhookDeliveryDeletionResult](orchv1.WebhookService_DeleteDeliveries_FullMethodName, in)
		if err := r.Call(deletion); err != nil {
			return page.View{}, err
		}
		deleted += deletion.Result().GetDeleted()
		if deletion.Result().NextPageToken == nil {
			return r.Done(r.Path()+"?"+f.query().Encode(), "deliveries-delete", int(deleted)), nil
		}
		body["page_token"] = deletion.Result().GetNextPageToken()
	}
	return confirm(r, confirmView{
		Title: "Go on with the deletion?", Action: "deliveries-delete", Button: "Go on",
		Text: show.Plural(deleted, "delivery is", "deliveries are") + " deleted, and more of the log is to be searched.",
	}), nil
}

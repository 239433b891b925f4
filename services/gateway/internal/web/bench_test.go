package web

import (
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/emptypb"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// TestPreviewRendersOneDelivery previews a template as the script does while somebody types.
func TestPreviewRendersOneDelivery(t *testing.T) {
	t.Parallel()
	s := &stub{answers: console()}
	site := siteWith(t, s, nil)
	got := visit(t, site, "/webhooks/webhook/"+someID+"/bench", url.Values{
		"accept": {fragmentType}, "action": {"bench-preview"}, "template": {"{{ body }}"}, "request": {"delivery:" + someID},
	})
	require.Equal(t, 200, got.Code, got.Body.String())
	require.Contains(t, got.Body.String(), `id="preview"`)
	require.NotContains(t, got.Body.String(), "<html")
	require.Equal(t, []string{orchv1.WebhookService_RenderDelivery_FullMethodName, orchv1.EventTypeService_ReadEventTypes_FullMethodName}, s.calls)
	require.Equal(t, "{{ body }}", s.last[orchv1.WebhookService_RenderDelivery_FullMethodName].(*orchv1.RenderDeliveryRequest).GetDraft().GetTemplate())
	require.Less(t, strings.Count(got.Body.String(), "<"), 100)
}

// A delivery and a typed request become samples, which are renamed and deleted; each form leads back to the bench.
func TestSamplesOnTheBench(t *testing.T) {
	t.Parallel()
	const bench = "/webhooks/webhook/" + someID + "/bench"
	kept := console()
	kept[orchv1.WebhookService_CreateWebhookSample_FullMethodName] = &orchv1.WebhookSample{Id: someID}
	kept[orchv1.WebhookService_UpdateWebhookSample_FullMethodName] = &emptypb.Empty{}
	kept[orchv1.WebhookService_DeleteWebhookSample_FullMethodName] = &emptypb.Empty{}
	s := &stub{answers: kept}
	site := siteWith(t, s, nil)
	post := func(form url.Values) string {
		got := visit(t, site, bench, form)
		require.Equal(t, 303, got.Code, got.Body.String())
		return got.Header().Get("Location")
	}
	created := func() *orchv1.WebhookSampleCreate {
		return s.last[orchv1.WebhookService_CreateWebhookSample_FullMethodName].(*orchv1.CreateWebhookSampleRequest).GetSample()
	}
	require.Contains(t, post(url.Values{"action": {"sample-keep"}, "name": {"large"}, "request": {"delivery:" + someID}}), bench+"?sample="+someID)
	require.Equal(t, []string{"large", someID}, []string{created().GetName(), created().GetDeliveryId()})
	require.Nil(t, created().GetRequest())

	post(url.Values{
		"action": {"sample-type"}, "name": {"ping"}, "method": {"PUT"}, "path": {"/a"}, "query": {"b=1"}, "headers": {"X-A: b\r\n\r\nX-C: d:e"}, "body": {"{\r\n}"},
		"request": {"delivery:" + someID},
	})
	require.True(t, proto.Equal(&orchv1.WebhookSampleRequest{
		Method: "PUT", Path: "/a", Query: "b=1", Headers: map[string]string{"X-A": "b", "X-C": "d:e"}, Body: []byte(`"{\n}"`),
	}, created().GetRequest()), "%s", created())
	require.Nil(t, created().DeliveryId)

	refused := visit(t, site, bench, url.Values{"action": {"sample-type"}, "name": {"x"}, "method": {"POST"}, "headers": {"nonsense"}})
	require.Equal(t, 422, refused.Code)
	require.Contains(t, refused.Body.String(), "Headers: a line is like")

	require.Contains(t, post(url.Values{"action": {"sample-rename"}, "name": {"new"}, "request": {"sample:" + someID}}), bench+"?sample="+someID)
	renamed := s.last[orchv1.WebhookService_UpdateWebhookSample_FullMethodName].(*orchv1.UpdateWebhookSampleRequest)
	require.Equal(t, []string{"new", someID}, []string{renamed.GetSample().GetName(), renamed.GetSampleId()})
	post(url.Values{"action": {"sample-delete"}, "request": {"sample:" + someID}, "confirm": {"yes"}})
	require.Equal(t, someID, s.last[orchv1.WebhookService_DeleteWebhookSample_FullMethodName].(*orchv1.DeleteWebhookSampleRequest).GetSampleId())
}

package orchestration_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/fieldmaskpb"

	"github.com/orch-project/orch/pkg/webhook/deliverylog"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

func (d *domain) samples(w *orchv1.Webhook) []*orchv1.WebhookSample {
	d.t.Helper()
	return call[*orchv1.WebhookSampleList](d, orchv1.WebhookService_ListWebhookSamples_FullMethodName, &orchv1.ListWebhookSamplesRequest{Id: w.GetId()}).GetSamples()
}

func (d *domain) createSample(w *orchv1.Webhook, create *orchv1.WebhookSampleCreate) (*orchv1.WebhookSample, error) {
	d.t.Helper()
	sample, _, err := try[*orchv1.WebhookSample](d, orchv1.WebhookService_CreateWebhookSample_FullMethodName, &orchv1.CreateWebhookSampleRequest{Id: w.GetId(), Sample: create})
	return sample, err
}

// typed is a new sample with a typed body.
func typed(name, body string) *orchv1.WebhookSampleCreate {
	return &orchv1.WebhookSampleCreate{Name: name, Request: &orchv1.WebhookSampleRequest{Method: "POST", Body: []byte(body)}}
}

// A sample has the request of its delivery byte for byte, outlives it, and renders as a replay would.
func TestSamplesOfDeliveries(t *testing.T) {
	t.Parallel()
	d := newDomain(t)
	w, other := d.eventWebhook(), d.webhook("other")
	delivery := failed("{\"name\": \"caf\xe9\"}")
	delivery.Headers["content-type"] = "application/json; charset=iso-8859-1"
	delivery.Path, delivery.Query = "/a", "b=1"
	refused := failed("")
	refused.Status, refused.Reason = http.StatusUnauthorized, proto.String(deliverylog.ReasonSignature)
	d.deliver(w, delivery, refused)

	sample, err := d.createSample(w, &orchv1.WebhookSampleCreate{Name: "latin", DeliveryId: proto.String(delivery.GetId())})
	require.NoError(t, err)
	require.Equal(t, `{"name": "café"}`, sample.GetBody())
	require.Equal(t, []string{"POST", "/a", "b=1", "a"}, []string{sample.GetMethod(), sample.GetPath(), sample.GetQuery(), sample.GetHeaders()["x.dotted"]})
	for name, create := range map[string]*orchv1.WebhookSampleCreate{
		"a refused delivery": {Name: "x", DeliveryId: proto.String(refused.GetId())},
		"the same name":      typed("latin", `"x"`),
	} {
		_, err := d.createSample(w, create)
		code, _ := status(err)
		require.Equal(t, http.StatusConflict, code, name)
	}
	_, err = d.createSample(other, &orchv1.WebhookSampleCreate{Name: "x", DeliveryId: proto.String(delivery.GetId())})
	code, _ := status(err)
	require.Equal(t, http.StatusNotFound, code, "a delivery of another webhook")
	_, err = d.createSample(w, &orchv1.WebhookSampleCreate{Name: "x"})
	code, _ = status(err)
	require.Equal(t, http.StatusUnprocessableEntity, code, "neither a delivery nor a request")

	call[*orchv1.WebhookDeliveryDeletionResult](d, orchv1.WebhookService_DeleteDeliveries_FullMethodName, &orchv1.DeleteDeliveriesRequest{Id: w.GetId(), Deletion: &orchv1.WebhookDeliveryDeletion{}})
	rendered := call[*orchv1.WebhookRendering](d, orchv1.WebhookService_RenderWebhookSample_FullMethodName, &orchv1.RenderWebhookSampleRequest{
		Id: w.GetId(), SampleId: sample.GetId(), Draft: &orchv1.WebhookDeliveryDraft{Template: proto.String(`{"event": "got.{{ body.name }}", "resource": {"orch.resource.id": "r"}}`)},
	})
	require.Nil(t, rendered.GetError())
	require.Contains(t, string(rendered.GetEvent()), `"got.café"`)
	_, err = tryIgnored(d, orchv1.WebhookService_RenderWebhookSample_FullMethodName, &orchv1.RenderWebhookSampleRequest{Id: other.GetId(), SampleId: sample.GetId()})
	code, _ = status(err)
	require.Equal(t, http.StatusNotFound, code, "a sample of another webhook")

	second, err := d.createSample(w, typed("second", `{"name": "n"}`))
	require.NoError(t, err)
	rename := func(name string) error {
		_, err := tryIgnored(d, orchv1.WebhookService_UpdateWebhookSample_FullMethodName, &orchv1.UpdateWebhookSampleRequest{
			Id: w.GetId(), SampleId: second.GetId(), Sample: &orchv1.WebhookSampleUpdate{Name: name}, UpdateMask: &fieldmaskpb.FieldMask{Paths: []string{"name"}},
		})
		return err
	}
	code, _ = status(rename("latin"))
	require.Equal(t, http.StatusConflict, code)
	require.NoError(t, rename("first"))
	require.Equal(t, "first", d.samples(w)[0].GetName(), "in the order of names")
	call[*emptypb.Empty](d, orchv1.WebhookService_DeleteWebhookSample_FullMethodName, &orchv1.DeleteWebhookSampleRequest{Id: w.GetId(), SampleId: second.GetId()})
	require.Len(t, d.samples(w), 1)
	_, _, err = tryIn[*orchv1.WebhookSample](d, uuid.New(), orchv1.WebhookService_ReadWebhookSample_FullMethodName, &orchv1.ReadWebhookSampleRequest{Id: w.GetId(), SampleId: sample.GetId()})
	code, _ = status(err)
	require.Equal(t, http.StatusNotFound, code, "another workspace")
}

// Typed credentials are masked before they are stored, among them the header that the scheme of the webhook names.
func TestTypedSamplesHaveNoCredentials(t *testing.T) {
	t.Parallel()
	d := newDomain(t)
	const signature = "5p1a7e-canary"
	w := call[*orchv1.Webhook](d, orchv1.WebhookService_CreateWebhook_FullMethodName, &orchv1.CreateWebhookRequest{Webhook: &orchv1.WebhookCreate{
		Name: "signed", Template: `{}`, Verification: &orchv1.WebhookVerificationInput{
			Scheme: orchv1.WebhookScheme_WEBHOOK_SCHEME_TOKEN, Header: proto.String("X-Proof"), Secrets: []string{"long enough"},
		},
	}})
	sample, err := d.createSample(w, &orchv1.WebhookSampleCreate{Name: "s", Request: &orchv1.WebhookSampleRequest{
		Method: "POST", Path: "/" + w.GetSlug(), Query: "token=" + signature, Headers: map[string]string{
			"X-Proof": signature, "X-Api-Key": signature, "Cookie": signature, "Authorization": "Bearer " + signature, "X-Plain": "plain",
		},
	}})
	require.NoError(t, err)
	text := sample.String()
	require.NotContains(t, text, signature)
	require.NotContains(t, text, w.GetSlug())
	require.Equal(t, "plain", sample.GetHeaders()["x-plain"])
}

// Concurrent creations do not exceed the number of samples together, and a large request is refused.
func TestSamplesAreBounded(t *testing.T) {
	t.Parallel()
	d := newDomain(t)
	w := d.eventWebhook()
	const most = 20
	var wg sync.WaitGroup
	for i := range most + 10 {
		wg.Go(func() {
			_, _, _ = try[*orchv1.WebhookSample](d, orchv1.WebhookService_CreateWebhookSample_FullMethodName,
				&orchv1.CreateWebhookSampleRequest{Id: w.GetId(), Sample: typed(fmt.Sprint("concurrent ", i), `"x"`)})
		})
	}
	wg.Wait()
	require.LessOrEqual(t, len(d.samples(w)), most)
	for i := len(d.samples(w)); i < most; i++ {
		_, err := d.createSample(w, typed(fmt.Sprint("further ", i), `"x"`))
		require.NoError(t, err)
	}
	_, err := d.createSample(w, typed("beyond", `"x"`))
	code, text := status(err)
	require.Equal(t, http.StatusConflict, code)
	require.Contains(t, text, "at most 20 samples")
	require.Len(t, d.samples(w), most)

	other := d.webhook("other")
	_, err = d.createSample(other, typed("largest", `"`+strings.Repeat("x", deliverylog.MaxBody)+`"`))
	require.NoError(t, err)
	large := typed("headers", `"`+strings.Repeat("x", deliverylog.MaxBody)+`"`)
	large.Request.Headers = map[string]string{"x-a": strings.Repeat("y", 64<<10)}
	for name, create := range map[string]*orchv1.WebhookSampleCreate{
		"body": typed("body", `"`+strings.Repeat("x", deliverylog.MaxBody+1)+`"`), "headers": large,
	} {
		_, err := d.createSample(other, create)
		code, _ := status(err)
		require.Equal(t, http.StatusUnprocessableEntity, code, name)
	}
}

// A deletion reaches the samples whose name or request contains the text if it is to, and the deletion of a webhook all of them.
func TestSamplesAreDeletedWithTheirText(t *testing.T) {
	t.Parallel()
	d := newDomain(t)
	w := d.eventWebhook()
	for name, body := range map[string]string{"order of Ada": `{}`, "order": `{"person": "Ada"}`, "other": `{"person": "Grace"}`} {
		_, err := d.createSample(w, typed(name, body))
		require.NoError(t, err)
	}
	remove := func(deletion *orchv1.WebhookDeliveryDeletion) (*orchv1.WebhookDeliveryDeletionResult, error) {
		result, _, err := try[*orchv1.WebhookDeliveryDeletionResult](d, orchv1.WebhookService_DeleteDeliveries_FullMethodName, &orchv1.DeleteDeliveriesRequest{Id: w.GetId(), Deletion: deletion})
		return result, err
	}
	_, err := remove(&orchv1.WebhookDeliveryDeletion{Samples: true})
	code, _ := status(err)
	require.Equal(t, http.StatusUnprocessableEntity, code, "samples without a text")
	result, err := remove(&orchv1.WebhookDeliveryDeletion{Text: proto.String("ADA")})
	require.NoError(t, err)
	require.Zero(t, result.GetSamples())
	require.Len(t, d.samples(w), 3)
	result, err = remove(&orchv1.WebhookDeliveryDeletion{Text: proto.String("ADA"), Samples: true})
	require.NoError(t, err)
	require.EqualValues(t, 2, result.GetSamples())
	left := d.samples(w)
	require.Len(t, left, 1)
	require.Equal(t, "other", left[0].GetName())

	stored := func() int64 { return d.count("webhook_sample", "webhook_id", w.GetId()) }
	require.Equal(t, int64(1), stored())
	call[*emptypb.Empty](d, orchv1.WebhookService_DeleteWebhook_FullMethodName, &orchv1.DeleteWebhookRequest{Id: w.GetId()})
	eventually(t, func() bool { return stored() == 0 }, "the samples of the webhook are deleted")
}

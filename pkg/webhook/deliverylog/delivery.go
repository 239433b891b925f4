// Package deliverylog is what all services agree on about the log of a webhook's deliveries: what of a request it keeps,
// how the request is made again from that, and how entries travel.
//
//	hooks: Request ──▶ Of ──▶ journal "deliveries" ──▶ orchestration: store ──▶ Request ──▶ replay
//
// The log is read by people. It keeps what templates see but for credentials, which are masked, and for the slug. So a
// template that looks at a credential sees the mask when its request is replayed.
package deliverylog

import (
	"context"
	"strings"
	"unicode/utf8"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/orch-project/orch/pkg/broker"
	"github.com/orch-project/orch/pkg/webhook/receive"
	"github.com/orch-project/orch/pkg/webhook/redact"
	"github.com/orch-project/orch/pkg/webhook/render"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// Journal is the name of the journal.
const Journal = "deliveries"

// Open opens the journal by which entries, each a WebhookDeliveryBatch, reach the store.
func Open(ctx context.Context, conn *broker.Conn) (*broker.Journal, error) {
	return conn.Journal(ctx, Journal, broker.JournalConfig{Description: "The log of webhooks' deliveries, on its way to the store."})
}

// MaxBody is how much of a body the delivery log keeps, in bytes. A longer one is cut.
const MaxBody = 256 << 10

// Of is a request as the delivery log keeps it: credentials in headers and query are masked. The webhook's slug and
// secrets appear nowhere but in the body. The body is decompressed, and truncated when it is long.
func Of(r *receive.Request) *orchv1.WebhookDelivery {
	d := &orchv1.WebhookDelivery{
		Received: timestamppb.New(r.Received),
		Method:   r.Method,
		Path:     redact.Own(r, r.Path),
		Query:    redact.Query(redact.Own(r, r.Query)),
		Headers:  make(map[string]string, len(r.Header)),
		Size:     int64(len(r.Wire)),
		RawBody:  r.Raw,
	}
	for _, f := range r.Header {
		d.Headers[f.Name] = redact.Header(r, f)
	}
	if r.TooLarge || len(d.RawBody) > MaxBody {
		d.BodyTruncated = true
		d.RawBody = d.RawBody[:min(len(d.RawBody), MaxBody)]
	}
	return d
}

// Request is the request that a delivery was made by, as far as the log has it.
func Request(d *orchv1.WebhookDelivery) *receive.Request {
	r := &receive.Request{
		Method: d.GetMethod(), Path: d.GetPath(), Query: d.GetQuery(), Raw: d.GetRawBody(), Wire: d.GetRawBody(),
		TooLarge: d.GetBodyTruncated(), Received: d.GetReceived().AsTime(),
	}
	for name, value := range d.GetHeaders() {
		r.Header = append(r.Header, receive.Field{Name: name, Value: value})
	}
	receive.Sort(r.Header)
	return r
}

// Fail notes what was wrong with a delivery, and where; rendered is nil when the template did not.
func Fail(d *orchv1.WebhookDelivery, r *receive.Request, err error, rendered *string) {
	message, _ := redact.Cut(redact.Text(r, render.Message(err)), maxError)
	d.Error = &message
	if line, column, ok := render.Place(err); ok {
		d.ErrorLine, d.ErrorColumn = &line, &column
	}
	if rendered != nil {
		text, cut := redact.Cut(redact.Text(r, *rendered), receive.Excerpt)
		d.Rendered, d.RenderedTruncated = &text, cut
	}
}

// SetResponse notes what the sender received by the response of the webhook; nil for none.
func SetResponse(d *orchv1.WebhookDelivery, r *receive.Request, response *orchv1.WebhookRenderedResponse) {
	d.Response = nil
	if response == nil {
		return
	}
	text := func(s string, limit int) string {
		s, _ = redact.Cut(redact.Text(r, s), limit)
		return s
	}
	d.Response = &orchv1.WebhookRenderedResponse{
		Status: response.GetStatus(), Headers: make(map[string]string, len(response.GetHeaders())),
		Body: text(response.GetBody(), render.MaxResponseBody),
	}
	for name, value := range response.GetHeaders() {
		d.Response.Headers[name] = text(value, render.MaxHeaderValue)
	}
	if e := response.GetError(); e != nil {
		d.Response.Error = proto.CloneOf(e)
		d.Response.Error.Message = text(e.GetMessage(), maxError)
	}
}

// maxError bounds the message of an error, in bytes.
const maxError = 4 << 10

// Body is the body of a delivery as text, by its charset.
func Body(d *orchv1.WebhookDelivery) string {
	r := Request(d)
	r.TooLarge = false
	body := r.Body()
	if body.Form || body.Text == "" {
		return strings.ToValidUTF8(string(d.GetRawBody()), string(utf8.RuneError))
	}
	return body.Text
}

package orchestration_test

import (
	"context"
	"log/slog"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/fieldmaskpb"

	"github.com/orch-project/orch/pkg/broker"
	"github.com/orch-project/orch/pkg/request"
	"github.com/orch-project/orch/pkg/rpc"
	"github.com/orch-project/orch/pkg/webhookdef"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

func (d *domain) webhook(name string) *orchv1.Webhook {
	d.t.Helper()
	return call[*orchv1.Webhook](d, orchv1.WebhookService_CreateWebhook_FullMethodName, &orchv1.CreateWebhookRequest{
		Webhook: &orchv1.WebhookCreate{Name: name, Template: "{}", Enabled: true},
	})
}

// definition is what the definition bucket holds for a slug; nil when nothing.
func (d *domain) definition(kv *broker.KV, slug string) *orchv1.WebhookDefinition {
	d.t.Helper()
	entry, err := kv.Get(d.t.Context(), webhookdef.Key(slug))
	if err != nil {
		require.ErrorIs(d.t, err, broker.ErrNotFound)
		return nil
	}
	definition, err := webhookdef.Decode(entry)
	require.NoError(d.t, err)
	return definition
}

func (d *domain) definitions() *broker.KV {
	d.t.Helper()
	kv, err := d.broker.KeyValue(d.t.Context(), webhookdef.Bucket, broker.KVConfig{})
	require.NoError(d.t, err)
	return kv
}

func TestDefinitionIsPublishedBeforeTheResponse(t *testing.T) {
	t.Parallel()
	d := newDomain(t)
	kv := d.definitions()
	w := d.webhook("gh")
	require.Equal(t, "http://orch.test/hooks/"+w.GetSlug(), w.GetUrl())
	require.Len(t, w.GetSlug(), 22)
	require.True(t, d.definition(kv, w.GetSlug()).GetEnabled())

	patch := func(update *orchv1.WebhookUpdate, paths ...string) {
		call[*emptypb.Empty](d, orchv1.WebhookService_UpdateWebhook_FullMethodName, &orchv1.UpdateWebhookRequest{
			Id: w.GetId(), Webhook: update, UpdateMask: &fieldmaskpb.FieldMask{Paths: paths},
		})
	}
	patch(&orchv1.WebhookUpdate{}, "enabled")
	require.False(t, d.definition(kv, w.GetSlug()).GetEnabled())
	patch(&orchv1.WebhookUpdate{Enabled: true, Template: `{"a": 1}`}, "enabled", "template")
	require.Equal(t, `{"a": 1}`, d.definition(kv, w.GetSlug()).GetTemplate())

	rotated := call[*orchv1.Webhook](d, orchv1.WebhookService_RotateWebhook_FullMethodName, &orchv1.RotateWebhookRequest{Id: w.GetId()})
	require.NotEqual(t, w.GetSlug(), rotated.GetSlug())
	require.False(t, d.definition(kv, w.GetSlug()).GetEnabled(), "the old address is gone")
	require.Empty(t, d.definition(kv, w.GetSlug()).GetTemplate())
	require.True(t, d.definition(kv, rotated.GetSlug()).GetEnabled(), "the rest of the configuration is not")

	call[*emptypb.Empty](d, orchv1.WebhookService_DeleteWebhook_FullMethodName, &orchv1.DeleteWebhookRequest{Id: w.GetId()})
	require.False(t, d.definition(kv, rotated.GetSlug()).GetEnabled())
}

func TestReplaceKeepsWhatIsNotSent(t *testing.T) {
	t.Parallel()
	d := newDomain(t)
	account := d.bot("sender").GetId()
	w := call[*orchv1.Webhook](d, orchv1.WebhookService_CreateWebhook_FullMethodName, &orchv1.CreateWebhookRequest{
		Webhook: &orchv1.WebhookCreate{Name: "gh", Template: "{}", Description: "old", ServiceAccountId: &account},
	})
	replace := func(paths ...string) error {
		_, _, err := try[*emptypb.Empty](d, orchv1.WebhookService_ReplaceWebhook_FullMethodName, &orchv1.ReplaceWebhookRequest{
			Id: w.GetId(), Webhook: &orchv1.WebhookReplace{Name: "new", Template: "{ }"}, UpdateMask: &fieldmaskpb.FieldMask{Paths: paths},
		})
		return err
	}
	read := func() *orchv1.Webhook {
		return call[*orchv1.Webhook](d, orchv1.WebhookService_ReadWebhook_FullMethodName, &orchv1.ReadWebhookRequest{Id: w.GetId()})
	}
	require.NoError(t, replace("name", "template", "description"))
	require.Equal(t, account, read().GetServiceAccountId())
	require.False(t, read().GetEnabled(), "a rename does not enable")
	require.Empty(t, read().GetDescription())
	require.NoError(t, replace("name", "template", "service_account_id"))
	require.Nil(t, read().ServiceAccountId, "null removes it")

	fieldErrors := rpc.HTTPError(replace("name")).GetFieldErrors().GetErrors()
	require.Len(t, fieldErrors, 1)
	require.Equal(t, "missing", fieldErrors[0].GetType())
}

func TestBrokenTemplatesAreNotSaved(t *testing.T) {
	t.Parallel()
	d := newDomain(t)
	_, _, err := try[*orchv1.Webhook](d, orchv1.WebhookService_CreateWebhook_FullMethodName, &orchv1.CreateWebhookRequest{
		Webhook: &orchv1.WebhookCreate{Name: "gh", Template: "{{"},
	})
	e := rpc.HTTPError(err)
	require.Equal(t, int32(422), e.GetStatus())
	require.Contains(t, e.GetFieldErrors().GetErrors()[0].GetMsg(), "line 1")
	require.Empty(t, call[*orchv1.WebhookList](d, orchv1.WebhookService_ListWebhooks_FullMethodName, &orchv1.ListWebhooksRequest{}).GetWebhooks())
}

func TestFilters(t *testing.T) {
	t.Parallel()
	d := newDomain(t)
	kv := d.definitions()
	w := d.webhook("gh")
	require.Nil(t, w.Filter)
	require.Equal(t, orchv1.WebhookFilterError_WEBHOOK_FILTER_ERROR_FAIL, w.GetFilterError())
	filtered := orchv1.WebhookFilterError_WEBHOOK_FILTER_ERROR_FILTERED
	require.NoError(t, d.patchWebhook(w.GetId(), &orchv1.WebhookUpdate{Filter: new("body.a\nand body.b"), FilterError: &filtered}, "filter", "filter_error"))
	definition := d.definition(kv, w.GetSlug())
	require.Equal(t, "body.a\nand body.b", definition.GetFilter())
	require.Equal(t, filtered, definition.GetFilterError())

	for filter, text := range map[string]string{
		"body.a\nand )":  "syntax error at line 2, column 5",
		"{{ body.a }}":   "write it without {{ }}",
		" ":              "Expected an expression",
		"body.a | nope2": "line 1",
	} {
		err := d.patchWebhook(w.GetId(), &orchv1.WebhookUpdate{Filter: &filter}, "filter")
		e := rpc.HTTPError(err)
		require.Equal(t, int32(422), e.GetStatus(), filter)
		refused := e.GetFieldErrors().GetErrors()[0]
		require.Contains(t, refused.GetMsg(), text)
		require.Equal(t, "filter", refused.GetLoc()[1].GetKey())
	}
	require.Equal(t, "body.a\nand body.b", d.definition(kv, w.GetSlug()).GetFilter(), "a refused one changes nothing")

	require.NoError(t, d.patchWebhook(w.GetId(), &orchv1.WebhookUpdate{}, "filter", "filter_error"))
	definition = d.definition(kv, w.GetSlug())
	require.Nil(t, definition.Filter, "null removes it")
	require.Equal(t, orchv1.WebhookFilterError_WEBHOOK_FILTER_ERROR_FAIL, definition.GetFilterError())
}

func TestResponses(t *testing.T) {
	t.Parallel()
	d := newDomain(t)
	kv := d.definitions()
	w := d.webhook("commands")
	require.Nil(t, w.Response)
	response := &orchv1.WebhookResponse{Status: 200, Headers: map[string]string{"Content-Type": "application/json", "$a.b": "c"}, Body: `{"text": {{ body.text | tojson }}}`}
	require.NoError(t, d.patchWebhook(w.GetId(), &orchv1.WebhookUpdate{Response: response}, "response"))
	require.True(t, proto.Equal(response, d.definition(kv, w.GetSlug()).GetResponse()))
	read := call[*orchv1.Webhook](d, orchv1.WebhookService_ReadWebhook_FullMethodName, &orchv1.ReadWebhookRequest{Id: w.GetId()})
	require.True(t, proto.Equal(response, read.GetResponse()))

	err := d.patchWebhook(w.GetId(), &orchv1.WebhookUpdate{Response: &orchv1.WebhookResponse{
		Status: 404, Headers: map[string]string{"Set-Cookie": "a=b", "X-A": "{{"}, Body: "a\n{{ b }",
	}}, "response")
	e := rpc.HTTPError(err)
	require.Equal(t, int32(422), e.GetStatus())
	texts := map[string]string{}
	for _, f := range e.GetFieldErrors().GetErrors() {
		var path []string
		for _, part := range f.GetLoc() {
			path = append(path, part.GetKey())
		}
		texts[strings.Join(path, ".")] = f.GetType() + " " + f.GetMsg()
	}
	require.Len(t, texts, 4)
	require.Contains(t, texts["body.response.status"], "value_error Value error, the status")
	require.Contains(t, texts["body.response.headers.Set-Cookie"], "value_error Value error, the server")
	require.Contains(t, texts["body.response.headers.X-A"], "template_syntax Value error, syntax error at line 1")
	require.Contains(t, texts["body.response.body"], "template_syntax Value error, syntax error at line 2")
	require.True(t, proto.Equal(response, d.definition(kv, w.GetSlug()).GetResponse()), "a refused one changes nothing")

	require.NoError(t, d.patchWebhook(w.GetId(), &orchv1.WebhookUpdate{}, "response"))
	require.Nil(t, d.definition(kv, w.GetSlug()).Response, "null removes it")
}

func TestWebhooksAreListedByName(t *testing.T) {
	t.Parallel()
	d := newDomain(t)
	for _, name := range []string{"b", "a", "c"} {
		d.webhook(name)
	}
	var names []string
	for _, w := range call[*orchv1.WebhookList](d, orchv1.WebhookService_ReadWebhooks_FullMethodName, &orchv1.ReadWebhooksRequest{}).GetWebhooks() {
		names = append(names, w.GetName())
	}
	require.Equal(t, []string{"a", "b", "c"}, names)
	one := call[*orchv1.WebhookList](d, orchv1.WebhookService_ListWebhooks_FullMethodName, &orchv1.ListWebhooksRequest{Name: new("b")})
	require.Len(t, one.GetWebhooks(), 1)
	require.Equal(t, int64(3), call[*orchv1.CountResponse](d, orchv1.WebhookService_CountWebhooks_FullMethodName, &orchv1.CountWebhooksRequest{}).GetCount())
}

func TestLostDefinitionsAreWrittenAgain(t *testing.T) {
	t.Parallel()
	d := newIdleDomain(t, slog.DiscardHandler) // The reconciler that starts with the workers would write the definition first.
	kv := d.definitions()
	w := d.webhook("gh")
	require.NoError(t, kv.Delete(t.Context(), webhookdef.Key(w.GetSlug())))
	require.Nil(t, d.definition(kv, w.GetSlug()))
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	require.NoError(t, d.service.Reconcile(ctx))
	require.True(t, d.definition(kv, w.GetSlug()).GetEnabled())
}

// After a restore of an older copy, the store knows less than the bucket: definitions of unknown webhooks, newer definitions, and
// tombstones of webhooks that exist again.
func TestARestoredStoreDecidesOnTheDefinitions(t *testing.T) {
	t.Parallel()
	d := newIdleDomain(t, slog.DiscardHandler)
	kv := d.definitions()
	put := func(slug string, definition *orchv1.WebhookDefinition) {
		entry, err := webhookdef.Encode(definition)
		require.NoError(t, err)
		_, err = kv.Put(t.Context(), webhookdef.Key(slug), entry)
		require.NoError(t, err)
	}
	changed, deleted := d.webhook("changed"), d.webhook("deleted")
	newer := d.definition(kv, changed.GetSlug())
	newer.Revision, newer.Template = newer.GetRevision()+5, "newer"
	put(changed.GetSlug(), newer)
	put(deleted.GetSlug(), &orchv1.WebhookDefinition{
		Id: deleted.GetId(), Account: uuid.Nil.String(), Workspace: request.DefaultWorkspace.String(), Revision: math.MaxInt64,
	})
	unknown := proto.CloneOf(newer)
	unknown.Id = uuid.NewString()
	put("unknown", unknown)
	require.True(t, d.definition(kv, "unknown").GetEnabled())

	require.NoError(t, d.service.Reconcile(t.Context()))
	require.Equal(t, changed.GetTemplate(), d.definition(kv, changed.GetSlug()).GetTemplate())
	require.True(t, d.definition(kv, deleted.GetSlug()).GetEnabled())
	require.False(t, d.definition(kv, "unknown").GetEnabled(), "a webhook that the store does not have is 404")
	read := func() map[string]uint64 {
		found := map[string]uint64{}
		require.NoError(t, kv.Entries(t.Context(), func(e broker.Entry) error { found[e.Key] = e.Revision; return nil }))
		return found
	}
	bucket := read()
	require.NoError(t, d.service.Reconcile(t.Context()))
	require.Equal(t, bucket, read(), "what is equal is not written again")
}

package web

import (
	"html"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/emptypb"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// webhookControls has the control of the form for each setting of a webhook.
var webhookControls = map[protoreflect.Name]string{
	"name": "name", "description": "description", "undefined": "undefined", "methods": "methods", "handshakes": "handshakes", "verify_token": "verify_token",
	"service_account_id": "account", "verification": "scheme", "deduplication": "deduplication", "rate_limit": "requests", "allowed_ips": "allow", "max_silence": "silence",
	"filter": "filter", "filter_error": "filter_error", "response": "response_status",
}

// webhookSettingsElsewhere has the settings that other pages change.
var webhookSettingsElsewhere = map[protoreflect.Name]string{"enabled": "the button of the webhook's page", "template": "the bench"}

// formValues returns what a browser submits of the form of a webhook.
func formValues(t *testing.T, text string) url.Values {
	t.Helper()
	form := regexp.MustCompile(`(?s)<form class="card sheet".*?</form>`).FindString(text)
	require.NotEmpty(t, form)
	values := url.Values{}
	attribute := func(tag, name string) (string, bool) {
		m := regexp.MustCompile(`\b` + name + `="([^"]*)"`).FindStringSubmatch(tag)
		if m == nil {
			return "", false
		}
		return html.UnescapeString(m[1]), true
	}
	for _, tag := range regexp.MustCompile(`<input [^>]*>`).FindAllString(form, -1) {
		name, _ := attribute(tag, "name")
		value, _ := attribute(tag, "value")
		if kind, _ := attribute(tag, "type"); kind != "checkbox" || strings.Contains(tag, " checked") {
			values.Add(name, value)
		}
	}
	for _, m := range regexp.MustCompile(`(?s)<textarea ([^>]*)>(.*?)</textarea>`).FindAllStringSubmatch(form, -1) {
		name, _ := attribute(m[1], "name")
		values.Add(name, html.UnescapeString(m[2]))
	}
	for _, m := range regexp.MustCompile(`(?s)<select ([^>]*)>(.*?)</select>`).FindAllStringSubmatch(form, -1) {
		name, _ := attribute(m[1], "name")
		for _, option := range regexp.MustCompile(`<option [^>]*selected[^>]*>`).FindAllString(m[2], -1) {
			value, _ := attribute(option, "value")
			values.Add(name, value)
		}
	}
	return values
}

// fullWebhook has a value in each setting.
func fullWebhook() *orchv1.Webhook {
	w := proto.CloneOf(console()[orchv1.WebhookService_ReadWebhook_FullMethodName].(*orchv1.Webhook))
	w.Name, w.Description = "pushes", "of "+hostile
	w.ServiceAccountId = proto.String(someID)
	w.Undefined = orchv1.WebhookUndefined_WEBHOOK_UNDEFINED_STRICT
	w.Filter, w.FilterError = proto.String("body.a\nand "+hostile), orchv1.WebhookFilterError_WEBHOOK_FILTER_ERROR_FILTERED
	w.Response = &orchv1.WebhookResponse{
		Status: 201, Headers: map[string]string{"Content-Type": "application/json", "X-Echo": "{{ body.a }}: " + hostile}, Body: "{\n}\n" + hostile,
	}
	w.Methods = []orchv1.WebhookMethod{orchv1.WebhookMethod_WEBHOOK_METHOD_POST, orchv1.WebhookMethod_WEBHOOK_METHOD_PUT}
	w.Handshakes = []orchv1.WebhookHandshake{orchv1.WebhookHandshake_WEBHOOK_HANDSHAKE_SLACK, orchv1.WebhookHandshake_WEBHOOK_HANDSHAKE_SNS}
	return w
}

// submitted posts the form of a webhook with changes, and returns the call that it makes.
func submitted(t *testing.T, w *orchv1.Webhook, changes url.Values) *orchv1.UpdateWebhookRequest {
	t.Helper()
	all := console()
	all[orchv1.WebhookService_ReadWebhook_FullMethodName] = w
	all[orchv1.WebhookService_UpdateWebhook_FullMethodName] = &emptypb.Empty{}
	all[orchv1.ServiceAccountService_ReadServiceAccounts_FullMethodName] = &orchv1.ServiceAccountList{ServiceAccounts: []*orchv1.ServiceAccount{{Id: someID, Name: "ci"}}}
	s := &stub{answers: all}
	site, path := siteWith(t, s, nil), "/webhooks/webhook/"+someID+"/edit"
	form := formValues(t, visit(t, site, path, nil).Body.String())
	form.Del("form_token")
	maps.Copy(form, changes)
	got := visit(t, site, path, form)
	require.Equal(t, 303, got.Code, got.Body.String())
	return s.last[orchv1.WebhookService_UpdateWebhook_FullMethodName].(*orchv1.UpdateWebhookRequest)
}

func TestWebhookFormHasEverySetting(t *testing.T) {
	t.Parallel()
	fields := (&orchv1.WebhookUpdate{}).ProtoReflect().Descriptor().Fields()
	var settings []protoreflect.Name
	for i := range fields.Len() {
		settings = append(settings, fields.Get(i).Name())
	}
	var controls []protoreflect.Name
	for name := range webhookControls {
		controls = append(controls, name)
	}
	for name := range webhookSettingsElsewhere {
		controls = append(controls, name)
	}
	require.ElementsMatch(t, settings, controls, "each setting of WebhookUpdate has a control, or another page that changes it")

	for _, path := range []string{"/webhooks/new", "/webhooks/webhook/" + someID + "/edit"} {
		text := visit(t, siteWith(t, &stub{answers: console()}, nil), path, nil).Body.String()
		for setting, control := range webhookControls {
			require.Contains(t, text, ` name="`+control+`"`, "%s of %s", setting, path)
		}
	}
}

func TestWebhookFormThatIsUnchangedChangesNothing(t *testing.T) {
	t.Parallel()
	w := fullWebhook()
	got := submitted(t, w, nil).GetWebhook()
	require.Equal(t, w.GetName(), got.GetName())
	require.Equal(t, w.GetDescription(), got.GetDescription())
	require.Equal(t, w.GetUndefined(), got.GetUndefined())
	require.Equal(t, w.GetFilter(), got.GetFilter())
	require.Equal(t, w.GetFilterError(), got.GetFilterError())
	require.True(t, proto.Equal(w.GetResponse(), got.GetResponse()), got.GetResponse())
	require.Equal(t, w.GetMethods(), got.GetMethods())
	require.Equal(t, w.GetHandshakes(), got.GetHandshakes())
	require.Equal(t, w.GetServiceAccountId(), got.GetServiceAccountId())
	require.Equal(t, w.GetDeduplication(), got.GetDeduplication())
	require.True(t, proto.Equal(w.GetRateLimit(), got.GetRateLimit()))
	require.Equal(t, w.GetAllowedIps(), got.GetAllowedIps())
	require.Equal(t, w.GetMaxSilence(), got.GetMaxSilence())
	paths := submitted(t, w, nil).GetUpdateMask().GetPaths()
	for _, kept := range []string{"verification", "verify_token", "enabled", "template"} {
		require.False(t, slices.Contains(paths, kept), kept)
	}
}

func TestWebhookFormChangesSettings(t *testing.T) {
	t.Parallel()
	got := submitted(t, fullWebhook(), url.Values{
		"undefined": {"lenient"}, "methods": {"GET"}, "handshakes": nil, "verify_token": {"token"}, "account": {""}, "filter": {" "},
		"response_status": {""}, "response_headers": {"\r\n"}, "response_body": {""},
	})
	require.Nil(t, got.GetWebhook().Filter)
	require.Contains(t, got.GetUpdateMask().GetPaths(), "filter")
	require.Nil(t, got.GetWebhook().Response)
	require.Contains(t, got.GetUpdateMask().GetPaths(), "response")
	require.Equal(t, orchv1.WebhookUndefined_WEBHOOK_UNDEFINED_LENIENT, got.GetWebhook().GetUndefined())
	require.Equal(t, []orchv1.WebhookMethod{orchv1.WebhookMethod_WEBHOOK_METHOD_GET}, got.GetWebhook().GetMethods())
	require.Empty(t, got.GetWebhook().GetHandshakes())
	require.Contains(t, got.GetUpdateMask().GetPaths(), "handshakes")
	require.Equal(t, "token", got.GetWebhook().GetVerifyToken())
	require.Nil(t, got.GetWebhook().ServiceAccountId)
	require.Contains(t, got.GetUpdateMask().GetPaths(), "service_account_id")
}

package orchestration_test

import (
	"encoding/base64"
	"encoding/json"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/fieldmaskpb"

	"github.com/orch-project/orch/pkg/restjson"
	"github.com/orch-project/orch/pkg/rpc"
	"github.com/orch-project/orch/pkg/webhookdef"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

const signingSecret = "a secret that nobody sees"

func github(secrets ...string) *orchv1.WebhookVerificationInput {
	return &orchv1.WebhookVerificationInput{Scheme: orchv1.WebhookScheme_WEBHOOK_SCHEME_GITHUB, Tolerance: 300, Secrets: secrets}
}

// signedWebhook creates a webhook that verifies signatures.
func (d *domain) signedWebhook() *orchv1.Webhook {
	d.t.Helper()
	return call[*orchv1.Webhook](d, orchv1.WebhookService_CreateWebhook_FullMethodName, &orchv1.CreateWebhookRequest{
		Webhook: &orchv1.WebhookCreate{
			Name: "signed", Template: "{}", Enabled: true, Verification: github(signingSecret), VerifyToken: proto.String("a token that nobody sees"),
			Handshakes: []orchv1.WebhookHandshake{orchv1.WebhookHandshake_WEBHOOK_HANDSHAKE_META},
			RateLimit:  &orchv1.WebhookRateLimit{Requests: 10, Seconds: 60}, AllowedIps: []string{"192.0.2.0/24"},
		},
	})
}

func (d *domain) readWebhook(id string) *orchv1.Webhook {
	d.t.Helper()
	return call[*orchv1.Webhook](d, orchv1.WebhookService_ReadWebhook_FullMethodName, &orchv1.ReadWebhookRequest{Id: id})
}

func (d *domain) patchWebhook(id string, update *orchv1.WebhookUpdate, paths ...string) error {
	d.t.Helper()
	_, _, err := try[*emptypb.Empty](d, orchv1.WebhookService_UpdateWebhook_FullMethodName, &orchv1.UpdateWebhookRequest{
		Id: id, Webhook: update, UpdateMask: &fieldmaskpb.FieldMask{Paths: paths},
	})
	return err
}

func TestSigningSecretsAreSealed(t *testing.T) {
	t.Parallel()
	d := newDomain(t)
	kv := d.definitions()
	w := d.signedWebhook()
	answered, err := restjson.Marshal(w)
	require.NoError(t, err)
	require.NotContains(t, string(answered), "nobody sees")
	require.NotContains(t, string(answered), "sealed")
	var shown map[string]any
	require.NoError(t, json.Unmarshal(answered, &shown))
	require.Equal(t, "delivery_id", shown["deduplication"])
	require.InDelta(t, 1, shown["verification"].(map[string]any)["secret_count"], 0)
	require.NotContains(t, shown["verification"], "secrets")

	definition := d.definition(kv, w.GetSlug())
	entry, err := kv.Get(t.Context(), webhookdef.Key(w.GetSlug()))
	require.NoError(t, err)
	require.NotContains(t, string(entry), "nobody sees")
	require.Len(t, definition.GetSealedSecrets(), 1)
	raw, err := base64.StdEncoding.DecodeString(definition.GetSealedSecrets()[0])
	require.NoError(t, err)
	field := webhookdef.SecretPlace(uuid.MustParse(w.GetWorkspace()), uuid.MustParse(w.GetId()), webhookdef.FieldSecrets)
	plain, err := d.keys.Open(field, raw)
	require.NoError(t, err)
	require.Equal(t, signingSecret, string(plain))
	require.Equal(t, []string{"192.0.2.0/24"}, definition.GetAllowedIps())
	require.EqualValues(t, 10, definition.GetRateLimit().GetRequests())
	require.Equal(t, orchv1.WebhookDeduplication_WEBHOOK_DEDUPLICATION_DELIVERY_ID, definition.GetDeduplication())

	// A rename keeps all of it.
	call[*emptypb.Empty](d, orchv1.WebhookService_ReplaceWebhook_FullMethodName, &orchv1.ReplaceWebhookRequest{
		Id: w.GetId(), Webhook: &orchv1.WebhookReplace{Name: "new", Template: "{ }"}, UpdateMask: &fieldmaskpb.FieldMask{Paths: []string{"name", "template"}},
	})
	again := d.definition(kv, w.GetSlug())
	require.Equal(t, definition.GetSealedSecrets(), again.GetSealedSecrets())
	require.True(t, proto.Equal(definition.GetVerification(), again.GetVerification()))

	// Other settings of the same scheme keep the secrets, a second one joins them, and null removes it all.
	settings := github()
	settings.Tolerance = 60
	require.NoError(t, d.patchWebhook(w.GetId(), &orchv1.WebhookUpdate{Verification: settings}, "verification"))
	require.Equal(t, definition.GetSealedSecrets(), d.definition(kv, w.GetSlug()).GetSealedSecrets())
	require.EqualValues(t, 60, d.readWebhook(w.GetId()).GetVerification().GetTolerance())
	require.NoError(t, d.patchWebhook(w.GetId(), &orchv1.WebhookUpdate{Verification: github("the new secret", signingSecret)}, "verification"))
	require.EqualValues(t, 2, d.readWebhook(w.GetId()).GetVerification().GetSecretCount())
	require.NoError(t, d.patchWebhook(w.GetId(), &orchv1.WebhookUpdate{}, "verification"))
	require.Nil(t, d.readWebhook(w.GetId()).GetVerification())
	require.Equal(t, orchv1.WebhookDeduplication_WEBHOOK_DEDUPLICATION_NONE, d.readWebhook(w.GetId()).GetDeduplication())
	require.Empty(t, d.definition(kv, w.GetSlug()).GetSealedSecrets())
}

func TestInvalidIngestionSettings(t *testing.T) {
	t.Parallel()
	d := newDomain(t)
	w := d.signedWebhook()
	plain := d.webhook("plain")
	delivery, content := orchv1.WebhookDeduplication_WEBHOOK_DEDUPLICATION_DELIVERY_ID, orchv1.WebhookDeduplication_WEBHOOK_DEDUPLICATION_CONTENT
	for name, c := range map[string]struct {
		id     string
		update *orchv1.WebhookUpdate
		path   string
		loc    []string
	}{
		"no secret":              {plain.GetId(), &orchv1.WebhookUpdate{Verification: github()}, "verification", []string{"verification", "secrets"}},
		"a short secret":         {plain.GetId(), &orchv1.WebhookUpdate{Verification: github("short")}, "verification", []string{"verification", "secrets", "0"}},
		"another scheme's":       {w.GetId(), &orchv1.WebhookUpdate{Verification: &orchv1.WebhookVerificationInput{Scheme: orchv1.WebhookScheme_WEBHOOK_SCHEME_STRIPE}}, "verification", []string{"verification", "secrets"}},
		"hmac without a header":  {plain.GetId(), &orchv1.WebhookUpdate{Verification: &orchv1.WebhookVerificationInput{Scheme: orchv1.WebhookScheme_WEBHOOK_SCHEME_HMAC, Secrets: []string{"long enough"}}}, "verification", []string{"verification", "header"}},
		"an address":             {plain.GetId(), &orchv1.WebhookUpdate{AllowedIps: []string{"10.0.0.1", "example.com"}}, "allowed_ips", []string{"allowed_ips", "1"}},
		"unsigned delivery ids":  {plain.GetId(), &orchv1.WebhookUpdate{Deduplication: &delivery}, "deduplication", []string{"deduplication"}},
		"unsigned content":       {plain.GetId(), &orchv1.WebhookUpdate{Deduplication: &content}, "deduplication", []string{"deduplication"}},
		"Meta without its token": {w.GetId(), &orchv1.WebhookUpdate{}, "verify_token", []string{"handshakes"}},
	} {
		t.Run(name, func(t *testing.T) {
			e := rpc.HTTPError(d.patchWebhook(c.id, c.update, c.path))
			require.EqualValues(t, 422, e.GetStatus(), name)
			fieldErrors := e.GetFieldErrors().GetErrors()
			require.Len(t, fieldErrors, 1, name)
			var loc []string
			for _, step := range fieldErrors[0].GetLoc()[1:] {
				loc = append(loc, step.GetKey())
			}
			require.Equal(t, c.loc, loc, name)
			require.NotContains(t, e.String(), "nobody sees")
		})
	}
	require.EqualValues(t, 1, d.readWebhook(w.GetId()).GetVerification().GetSecretCount(), "nothing was written")
}

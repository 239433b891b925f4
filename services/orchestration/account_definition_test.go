package orchestration_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/fieldmaskpb"

	"github.com/orch-project/orch/pkg/broker"
	"github.com/orch-project/orch/pkg/request"
	"github.com/orch-project/orch/pkg/webhookdef"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// accountDefinition is what the definition bucket holds of the default account; nil when nothing.
func (d *domain) accountDefinition(kv *broker.KV) *orchv1.AccountDefinition {
	d.t.Helper()
	entry, err := kv.Get(d.t.Context(), webhookdef.AccountKey(request.DefaultAccount))
	if err != nil {
		require.ErrorIs(d.t, err, broker.ErrNotFound)
		return nil
	}
	definition, err := webhookdef.DecodeAccount(entry)
	require.NoError(d.t, err)
	return definition
}

// TestAccountIntakeReachesTheCatalogue: what an account lets its webhooks take is known to the hooks service before the
// change is answered, and again after the broker lost it.
func TestAccountDefinitionReachesTheBucket(t *testing.T) {
	t.Parallel()
	d := newDomain(t)
	kv := d.definitions()
	patch := func(settings *orchv1.AccountSettingsUpdate, fields ...string) error {
		_, _, err := tryIn[*emptypb.Empty](d, request.DefaultWorkspace, orchv1.AccountService_UpdateAccountSettings_FullMethodName,
			&orchv1.UpdateAccountSettingsRequest{AccountId: account, Settings: settings, UpdateMask: &fieldmaskpb.FieldMask{Paths: fields}})
		return err
	}
	require.NoError(t, d.service.Reconcile(t.Context()))
	require.Nil(t, d.accountDefinition(kv), "an account without rules needs no entry")

	limit := &orchv1.WebhookRateLimit{Requests: 10, Seconds: 60}
	require.NoError(t, patch(&orchv1.AccountSettingsUpdate{WebhookRateLimit: limit}, "webhook_rate_limit"))
	got := d.accountDefinition(kv)
	require.Equal(t, int64(10), got.GetRateLimit().GetRequests())
	require.Empty(t, got.GetAllowedIps())

	networks := []string{"192.30.252.0/22", "2001:db8::1"}
	require.NoError(t, patch(&orchv1.AccountSettingsUpdate{WebhookAllowedIps: networks}, "webhook_allowed_ips"))
	require.Equal(t, networks, d.accountDefinition(kv).GetAllowedIps())
	require.Equal(t, int64(10), d.accountDefinition(kv).GetRateLimit().GetRequests(), "what is not sent stays")
	code, _ := status(patch(&orchv1.AccountSettingsUpdate{WebhookAllowedIps: []string{"nowhere"}}, "webhook_allowed_ips"))
	require.Equal(t, 422, code)
	require.Equal(t, networks, d.accountDefinition(kv).GetAllowedIps())

	require.NoError(t, kv.Delete(t.Context(), webhookdef.AccountKey(request.DefaultAccount)))
	require.NoError(t, d.service.Reconcile(t.Context()))
	require.Equal(t, networks, d.accountDefinition(kv).GetAllowedIps())

	require.NoError(t, patch(&orchv1.AccountSettingsUpdate{}, "webhook_rate_limit", "webhook_allowed_ips"))
	require.Nil(t, d.accountDefinition(kv).GetRateLimit())
	require.Empty(t, d.accountDefinition(kv).GetAllowedIps())
}

package orchestration_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/fieldmaskpb"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

func (d *domain) enforce(on bool) {
	d.t.Helper()
	call[*emptypb.Empty](d, orchv1.AccountService_UpdateAccountSettings_FullMethodName, &orchv1.UpdateAccountSettingsRequest{
		AccountId: account, Settings: &orchv1.AccountSettingsUpdate{EnforceWebhookAuthentication: on},
		UpdateMask: &fieldmaskpb.FieldMask{Paths: []string{"enforce_webhook_authentication"}},
	})
}

func patchWebhook(d *domain, ws uuid.UUID, id string, update *orchv1.WebhookUpdate, paths ...string) error {
	_, _, err := tryIn[*emptypb.Empty](d, ws, orchv1.WebhookService_UpdateWebhook_FullMethodName, &orchv1.UpdateWebhookRequest{
		Id: id, Webhook: update, UpdateMask: &fieldmaskpb.FieldMask{Paths: paths},
	})
	return err
}

func TestEnforcedAuthenticationOfWebhooks(t *testing.T) {
	t.Parallel()
	d := newDomain(t)
	kv := d.definitions()
	bot := d.bot("sender")
	ws := uuid.MustParse(call[*orchv1.Workspace](d, orchv1.WorkspaceService_CreateWorkspace_FullMethodName,
		&orchv1.CreateWorkspaceRequest{Workspace: &orchv1.WorkspaceCreate{Name: "other"}}).GetId())
	create := func(enabled bool, bound *string) (*orchv1.Webhook, error) {
		w, _, err := tryIn[*orchv1.Webhook](d, ws, orchv1.WebhookService_CreateWebhook_FullMethodName, &orchv1.CreateWebhookRequest{
			Webhook: &orchv1.WebhookCreate{Name: "w", Template: "{}", Enabled: enabled, ServiceAccountId: bound},
		})
		return w, err
	}
	read := func(w *orchv1.Webhook) *orchv1.Webhook {
		got, _, err := tryIn[*orchv1.Webhook](d, ws, orchv1.WebhookService_ReadWebhook_FullMethodName, &orchv1.ReadWebhookRequest{Id: w.GetId()})
		require.NoError(t, err)
		return got
	}
	refused := func(err error) {
		t.Helper()
		code, _ := status(err)
		require.Equal(t, 422, code)
	}
	open, err := create(true, nil)
	require.NoError(t, err)
	bound, err := create(true, new(bot.GetId()))
	require.NoError(t, err)
	first := d.webhook("in the default workspace")

	d.enforce(true)
	require.False(t, read(open).GetEnabled())
	require.True(t, read(bound).GetEnabled())
	require.False(t, d.definition(kv, open.GetSlug()).GetEnabled())
	require.False(t, d.definition(kv, first.GetSlug()).GetEnabled(), "over all workspaces")
	require.True(t, d.definition(kv, bound.GetSlug()).GetEnabled())

	_, err = create(true, nil)
	refused(err)
	_, err = create(false, nil)
	refused(err)
	refused(patchWebhook(d, ws, open.GetId(), &orchv1.WebhookUpdate{Enabled: true}, "enabled"))
	refused(patchWebhook(d, ws, bound.GetId(), &orchv1.WebhookUpdate{}, "service_account_id"))
	require.NotNil(t, read(bound).ServiceAccountId)
	require.NoError(t, patchWebhook(d, ws, open.GetId(), &orchv1.WebhookUpdate{Name: "renamed"}, "name"))

	require.NoError(t, patchWebhook(d, ws, open.GetId(), &orchv1.WebhookUpdate{ServiceAccountId: new(bot.GetId())}, "service_account_id"))
	require.False(t, read(open).GetEnabled(), "enabling is a step of its own")
	require.NoError(t, patchWebhook(d, ws, open.GetId(), &orchv1.WebhookUpdate{Enabled: true}, "enabled"))
	require.True(t, read(open).GetEnabled())
	require.NoError(t, patchWebhook(d, ws, open.GetId(), &orchv1.WebhookUpdate{}, "enabled"))
	require.NoError(t, patchWebhook(d, ws, open.GetId(), &orchv1.WebhookUpdate{}, "service_account_id"), "a disabled one may lose it")

	refused(patchWebhook(d, ws, bound.GetId(), &orchv1.WebhookUpdate{ServiceAccountId: new(uuid.NewString())}, "service_account_id"))

	d.enforce(false)
	require.False(t, read(open).GetEnabled(), "switching off does not enable")
	require.NoError(t, patchWebhook(d, ws, open.GetId(), &orchv1.WebhookUpdate{Enabled: true}, "enabled"))
	require.True(t, d.definition(kv, open.GetSlug()).GetEnabled())
}

// TestSwitchIsThrownWhileWebhooksChange makes, enables and unbinds a thousand webhooks over ten workspaces while the
// authentication of webhooks begins to be enforced. From the answer on, none is enabled without a service account.
func TestSwitchIsThrownWhileWebhooksChange(t *testing.T) {
	t.Parallel()
	const workspaces, each, writers = 10, 100, 16
	if testing.Short() {
		t.Skip("a thousand webhooks")
	}
	d := newDomain(t)
	bot := d.bot("sender").GetId()
	type hook struct {
		ws uuid.UUID
		id string
	}
	var places []uuid.UUID
	for i := range workspaces {
		w := call[*orchv1.Workspace](d, orchv1.WorkspaceService_CreateWorkspace_FullMethodName,
			&orchv1.CreateWorkspaceRequest{Workspace: &orchv1.WorkspaceCreate{Name: fmt.Sprint("ws ", i)}})
		places = append(places, uuid.MustParse(w.GetId()))
	}
	list := func(ws uuid.UUID) []*orchv1.Webhook {
		got, _, err := tryIn[*orchv1.WebhookList](d, ws, orchv1.WebhookService_ReadWebhooks_FullMethodName, &orchv1.ReadWebhooksRequest{Query: &orchv1.WebhookQuery{}})
		require.NoError(t, err)
		return got.GetWebhooks()
	}
	var thrown atomic.Bool
	observe := func() {
		before := thrown.Load()
		for _, ws := range places {
			for _, w := range list(ws) {
				if before && w.GetEnabled() && w.ServiceAccountId == nil {
					t.Errorf("the webhook %s is open after the switch was thrown", w.GetId())
				}
			}
		}
	}
	var group sync.WaitGroup
	jobs := make(chan int)
	for range writers {
		group.Go(func() {
			for i := range jobs {
				ws := places[i%workspaces]
				var bound *string
				if i%3 == 0 {
					bound = &bot
				}
				w, _, err := tryIn[*orchv1.Webhook](d, ws, orchv1.WebhookService_CreateWebhook_FullMethodName, &orchv1.CreateWebhookRequest{
					Webhook: &orchv1.WebhookCreate{Name: fmt.Sprint("hook ", i), Template: "{}", Enabled: i%3 != 1, ServiceAccountId: bound},
				})
				if err != nil {
					continue // Refused: the switch is on.
				}
				one := hook{ws, w.GetId()}
				switch i % 3 {
				case 0:
					_ = patchWebhook(d, one.ws, one.id, &orchv1.WebhookUpdate{}, "service_account_id")
				case 1:
					_ = patchWebhook(d, one.ws, one.id, &orchv1.WebhookUpdate{Enabled: true}, "enabled")
				}
			}
		})
	}
	var thrower sync.WaitGroup
	for i := range workspaces * each {
		if i == workspaces*each/2 {
			thrower.Go(func() {
				d.enforce(true)
				thrown.Store(true)
			})
		}
		jobs <- i
		if i%200 == 199 {
			observe()
		}
	}
	close(jobs)
	group.Wait()
	thrower.Wait()
	observe()
	kv := d.definitions()
	total, enabled := 0, 0
	for _, ws := range places {
		for _, w := range list(ws) {
			total++
			if w.GetEnabled() {
				enabled++
				require.NotNil(t, w.ServiceAccountId)
			}
			definition := d.definition(kv, w.GetSlug())
			require.False(t, definition.GetEnabled() && definition.ServiceAccountId == nil)
		}
	}
	t.Logf("%d webhooks, %d enabled", total, enabled)
	// With the switch off again nothing is hidden any more: what is stored is what was shown.
	d.enforce(false)
	for _, ws := range places {
		for _, w := range list(ws) {
			require.False(t, w.GetEnabled() && w.ServiceAccountId == nil)
		}
	}
}

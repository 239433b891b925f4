package orchestration_test

import (
	"log/slog"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/fieldmaskpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/orch-project/orch/pkg/access"
	"github.com/orch-project/orch/pkg/auth"
	"github.com/orch-project/orch/pkg/broker"
	"github.com/orch-project/orch/pkg/directory"
	"github.com/orch-project/orch/pkg/request"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// account is the default account's id, as paths have it.
var account = request.DefaultAccount.String()

func (d *domain) bot(name string) *orchv1.ServiceAccount {
	d.t.Helper()
	return call[*orchv1.ServiceAccount](d, orchv1.ServiceAccountService_CreateServiceAccount_FullMethodName,
		&orchv1.CreateServiceAccountRequest{AccountId: account, ServiceAccount: &orchv1.ServiceAccountCreate{Name: name}})
}

// directory is a directory that follows the domain, complete.
func (d *domain) directory() *directory.Directory {
	d.t.Helper()
	kv, err := d.broker.KeyValue(d.t.Context(), directory.Bucket, broker.KVConfig{})
	require.NoError(d.t, err)
	dir := directory.New(directory.Options{Bucket: kv})
	go func() { _ = dir.Run(d.t.Context()) }()
	<-dir.Ready()
	require.Eventually(d.t, func() bool { return dir.Current() == nil }, time.Minute, time.Millisecond)
	return dir
}

func TestFirstKeyIsShownOnce(t *testing.T) {
	t.Parallel()
	d := newDomain(t)
	key, err := d.service.BootstrapOwnerKey(t.Context())
	require.NoError(t, err)
	require.Regexp(t, `^onu_[a-z2-7]{52}$`, key)
	again, err := d.service.BootstrapOwnerKey(t.Context())
	require.NoError(t, err)
	require.Empty(t, again)
	other, err := d.service.NewOwnerKey(t.Context())
	require.NoError(t, err)

	dir := d.directory()
	for _, k := range []string{key, other} {
		require.Eventually(t, func() bool {
			owner, err := dir.Identify(k)
			return err == nil && owner.Administrator && owner.Name == "owner"
		}, 10*time.Second, time.Millisecond)
	}
	owner, err := dir.Identify(key)
	require.NoError(t, err)
	scopes, ok := dir.WorkspaceScopes(owner, account, request.DefaultWorkspace.String())
	require.True(t, ok)
	require.True(t, scopes.Has("manage_webhooks"))
	scopes, ok = dir.AccountScopes(owner, account)
	require.True(t, ok)
	require.True(t, scopes.Has("manage_account"))
}

// After a restore of an older copy, the bucket knows actors and keys that the store does not have, and newer versions of others.
func TestARestoredStoreDecidesOnTheDirectory(t *testing.T) {
	t.Parallel()
	d := newIdleDomain(t, slog.DiscardHandler)
	kv, err := d.broker.KeyValue(t.Context(), directory.Bucket, broker.KVConfig{})
	require.NoError(t, err)
	put := func(kind directory.Kind, e *orchv1.DirectoryEntry) {
		value, err := directory.Encode(e)
		require.NoError(t, err)
		_, err = kv.Put(t.Context(), directory.Key(kind, e.GetId()), value)
		require.NoError(t, err)
	}
	var keys []string
	added := func() []*orchv1.DirectoryKey {
		key, digest := auth.NewKey("onb_")
		keys = append(keys, key)
		return []*orchv1.DirectoryKey{{Id: uuid.NewString(), Digest: digest}}
	}
	put(directory.Account, &orchv1.DirectoryEntry{Id: account, Revision: 1, Account: &orchv1.DirectoryAccount{Handle: "earlier"}})
	kept := d.bot("kept")
	value, err := kv.Get(t.Context(), directory.Key(directory.ServiceAccount, kept.GetId()))
	require.NoError(t, err)
	newer, err := directory.Decode(value)
	require.NoError(t, err)
	newer.Revision += 5
	newer.Actor.Keys = append(newer.Actor.Keys, added()...)
	put(directory.ServiceAccount, newer)
	put(directory.ServiceAccount, &orchv1.DirectoryEntry{Id: uuid.NewString(), Revision: 1, Actor: &orchv1.DirectoryActor{
		ActorId: uuid.NewString(), Name: "unknown", AccountId: new(account), AccountRoleId: new(access.AccountOwner), Keys: added(),
	}})
	put(directory.User, &orchv1.DirectoryEntry{Id: uuid.NewString(), Revision: 1, Actor: &orchv1.DirectoryActor{
		ActorId: uuid.NewString(), Name: "administrator", Administrator: true, Keys: added(),
	}})
	_, err = kv.Put(t.Context(), directory.Complete, []byte("before the restore"))
	require.NoError(t, err)
	dir := d.directory()
	valid := func(key string) bool {
		require.True(t, dir.CatchUp(t.Context()))
		_, err := dir.Identify(key)
		return err == nil
	}
	for _, key := range keys {
		require.True(t, valid(key))
	}

	d.start()
	for _, key := range keys {
		require.Eventually(t, func() bool { return !valid(key) }, time.Minute, time.Millisecond)
	}
	require.True(t, valid(kept.GetApiKey().GetKey()), "the store has it")
}

func TestRotationOverlaps(t *testing.T) {
	t.Parallel()
	d := newDomain(t)
	dir := d.directory()
	expiration := timestamppb.New(time.Date(2100, 1, 2, 3, 4, 5, 123456000, time.UTC))
	made := call[*orchv1.ServiceAccount](d, orchv1.ServiceAccountService_CreateServiceAccount_FullMethodName,
		&orchv1.CreateServiceAccountRequest{ServiceAccount: &orchv1.ServiceAccountCreate{Name: "ci", ApiKeyExpiration: expiration}})
	first := made.GetApiKey().GetKey()
	require.Regexp(t, `^onb_`, first)
	require.Equal(t, "Member", made.GetAccountRoleName())
	require.Equal(t, expiration.AsTime(), made.GetApiKey().GetExpiration().AsTime(), "as it was sent")

	valid := func(key string) bool {
		require.True(t, dir.CatchUp(t.Context()))
		_, err := dir.Identify(key)
		return err == nil
	}
	rotate := func(overlap int64) string {
		rotated := call[*orchv1.ServiceAccount](d, orchv1.ServiceAccountService_RotateServiceAccountApiKey_FullMethodName,
			&orchv1.RotateServiceAccountApiKeyRequest{Id: made.GetId(), Rotation: &orchv1.ApiKeyRotation{OldKeyExpiresInSeconds: &overlap}})
		return rotated.GetApiKey().GetKey()
	}
	second := rotate(3600)
	require.True(t, valid(first) && valid(second))
	third := rotate(0)
	require.False(t, valid(first) || valid(second))
	require.True(t, valid(third))

	read := call[*orchv1.ServiceAccount](d, orchv1.ServiceAccountService_ReadServiceAccount_FullMethodName, &orchv1.ReadServiceAccountRequest{Id: made.GetId()})
	require.Nil(t, read.GetApiKey().Key, "a key is shown once")
	require.Empty(t, read.GetApiKey().GetDigest())
	require.Nil(t, read.GetApiKey().GetExpiration())

	call[*emptypb.Empty](d, orchv1.ServiceAccountService_DeleteServiceAccount_FullMethodName, &orchv1.DeleteServiceAccountRequest{Id: made.GetId()})
	require.False(t, valid(third))
}

func TestDeletedServiceAccountsTakeTheirWebhooksAndRolesAlong(t *testing.T) {
	t.Parallel()
	d := newDomain(t)
	dir := d.directory()
	bot := d.bot("sender")
	hook := call[*orchv1.Webhook](d, orchv1.WebhookService_CreateWebhook_FullMethodName, &orchv1.CreateWebhookRequest{
		Webhook: &orchv1.WebhookCreate{Name: "bound", Template: "{}", Enabled: true, ServiceAccountId: new(bot.GetId())},
	})
	open := d.webhook("open")
	given := call[*orchv1.WorkspaceAccessList](d, orchv1.WorkspaceAccessService_GrantBotAccess_FullMethodName, &orchv1.GrantBotAccessRequest{
		Grants: &orchv1.BotAccessGrants{Kind: &orchv1.BotAccessGrants_One{One: &orchv1.BotAccessGrant{BotId: bot.GetId(), WorkspaceRoleId: access.WorkspaceRunner}}},
	}).GetAccesses()[0]
	require.Equal(t, bot.GetActorId(), given.GetActorId())
	require.True(t, dir.CatchUp(t.Context()))
	caller, err := dir.Identify(bot.GetApiKey().GetKey())
	require.NoError(t, err)
	scopes, ok := dir.WorkspaceScopes(caller, account, request.DefaultWorkspace.String())
	require.True(t, ok)
	require.True(t, scopes.Has("run_deployments"))
	require.False(t, scopes.Has("manage_webhooks"))

	call[*emptypb.Empty](d, orchv1.ServiceAccountService_DeleteServiceAccount_FullMethodName, &orchv1.DeleteServiceAccountRequest{Id: bot.GetId()})
	_, _, err = try[*orchv1.Webhook](d, orchv1.WebhookService_ReadWebhook_FullMethodName, &orchv1.ReadWebhookRequest{Id: hook.GetId()})
	code, _ := status(err)
	require.Equal(t, 404, code)
	require.False(t, d.definition(d.definitions(), hook.GetSlug()).GetEnabled())
	call[*orchv1.Webhook](d, orchv1.WebhookService_ReadWebhook_FullMethodName, &orchv1.ReadWebhookRequest{Id: open.GetId()})
	_, _, err = try[*orchv1.WorkspaceAccess](d, orchv1.WorkspaceAccessService_ReadBotAccess_FullMethodName, &orchv1.ReadBotAccessRequest{Id: given.GetId()})
	code, _ = status(err)
	require.Equal(t, 404, code)
	require.True(t, dir.CatchUp(t.Context()))
	_, ok = dir.WorkspaceScopes(caller, account, request.DefaultWorkspace.String())
	require.False(t, ok)
}

func TestAccessIsUpserted(t *testing.T) {
	t.Parallel()
	d := newDomain(t)
	bot := d.bot("a")
	give := func(role string) *orchv1.WorkspaceAccess {
		return call[*orchv1.WorkspaceAccessList](d, orchv1.WorkspaceAccessService_GrantBotAccess_FullMethodName, &orchv1.GrantBotAccessRequest{
			Grants: &orchv1.BotAccessGrants{Kind: &orchv1.BotAccessGrants_List{List: &orchv1.BotAccessGrantList{
				Values: []*orchv1.BotAccessGrant{{BotId: bot.GetId(), WorkspaceRoleId: role}},
			}}},
		}).GetAccesses()[0]
	}
	first, second := give(access.WorkspaceViewer), give(access.WorkspaceWorker)
	require.Equal(t, first.GetId(), second.GetId())
	require.Equal(t, access.WorkspaceWorker, second.GetWorkspaceRoleId())
	require.Equal(t, request.DefaultWorkspace.String(), second.GetWorkspaceId())
}

func TestPlansGate(t *testing.T) {
	t.Parallel()
	d := newDomain(t)
	bot := d.bot("a")
	plan := func(name string) {
		call[*emptypb.Empty](d, orchv1.AccountService_UpdateAccount_FullMethodName, &orchv1.UpdateAccountRequest{
			Account: &orchv1.AccountUpdate{PlanType: &name}, UpdateMask: &fieldmaskpb.FieldMask{Paths: []string{"plan_type"}},
		})
	}
	bind := func() error {
		_, _, err := try[*orchv1.Webhook](d, orchv1.WebhookService_CreateWebhook_FullMethodName, &orchv1.CreateWebhookRequest{
			Webhook: &orchv1.WebhookCreate{Name: "x", Template: "{}", ServiceAccountId: new(bot.GetId())},
		})
		return err
	}
	custom := func() error {
		_, _, err := try[*orchv1.WorkspaceRole](d, orchv1.RoleService_CreateWorkspaceRole_FullMethodName, &orchv1.CreateWorkspaceRoleRequest{
			Role: &orchv1.WorkspaceRoleWrite{Name: "x" + time.Now().String()},
		})
		return err
	}
	another := func() error {
		_, _, err := try[*orchv1.ServiceAccount](d, orchv1.ServiceAccountService_CreateServiceAccount_FullMethodName,
			&orchv1.CreateServiceAccountRequest{ServiceAccount: &orchv1.ServiceAccountCreate{Name: time.Now().String()}})
		return err
	}
	for _, test := range []struct {
		plan                  string
		bind, custom, another bool
	}{{"hobby", false, false, false}, {"starter", false, false, false}, {"team", false, false, true}, {"pro", true, true, true}, {"enterprise", true, true, true}} {
		t.Run(test.plan, func(t *testing.T) {
			plan(test.plan)
			for what, got := range map[string]struct {
				err  error
				want bool
			}{"bind": {bind(), test.bind}, "custom role": {custom(), test.custom}, "service account": {another(), test.another}} {
				t.Run(what, func(t *testing.T) {
					if got.want {
						require.NoError(t, got.err, "%s on %s", what, test.plan)
						return
					}
					code, text := status(got.err)
					require.Equal(t, 403, code, "%s on %s", what, test.plan)
					require.Contains(t, text, test.plan)
				})
			}
		})
	}
}

func TestDeletedWorkspacesAreEmpty(t *testing.T) {
	t.Parallel()
	d := newDomain(t)
	ws := call[*orchv1.Workspace](d, orchv1.WorkspaceService_CreateWorkspace_FullMethodName, &orchv1.CreateWorkspaceRequest{
		Workspace: &orchv1.WorkspaceCreate{Name: "Staging area!"},
	})
	require.Equal(t, "staging-area", ws.GetHandle())
	require.Nil(t, ws.Description)
	inside := uuid.MustParse(ws.GetId())
	flow, _, err := tryIn[*orchv1.Flow](d, inside, orchv1.FlowService_CreateFlow_FullMethodName, &orchv1.CreateFlowRequest{Flow: &orchv1.FlowCreate{Name: "f"}})
	require.NoError(t, err)
	hook, _, err := tryIn[*orchv1.Webhook](d, inside, orchv1.WebhookService_CreateWebhook_FullMethodName, &orchv1.CreateWebhookRequest{
		Webhook: &orchv1.WebhookCreate{Name: "w", Template: "{}", Enabled: true},
	})
	require.NoError(t, err)
	kept := d.flow("kept")
	call[*emptypb.Empty](d, orchv1.WorkspaceService_DeleteWorkspace_FullMethodName, &orchv1.DeleteWorkspaceRequest{Id: ws.GetId()})
	_, _, err = tryIn[*orchv1.Flow](d, inside, orchv1.FlowService_ReadFlow_FullMethodName, &orchv1.ReadFlowRequest{Id: flow.GetId()})
	code, _ := status(err)
	require.Equal(t, 404, code)
	require.False(t, d.definition(d.definitions(), hook.GetSlug()).GetEnabled())
	call[*orchv1.Flow](d, orchv1.FlowService_ReadFlow_FullMethodName, &orchv1.ReadFlowRequest{Id: kept.GetId()})

	_, _, err = try[*emptypb.Empty](d, orchv1.WorkspaceService_DeleteWorkspace_FullMethodName, &orchv1.DeleteWorkspaceRequest{Id: request.DefaultWorkspace.String()})
	code, _ = status(err)
	require.Equal(t, 409, code)
}

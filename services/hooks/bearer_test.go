package hooks_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/orch-project/orch/pkg/access"
	"github.com/orch-project/orch/pkg/auth"
	"github.com/orch-project/orch/pkg/broker"
	"github.com/orch-project/orch/pkg/directory"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// known writes an entry into the directory, as orchestration does.
func (w *world) known(kind directory.Kind, e *orchv1.DirectoryEntry) {
	w.t.Helper()
	bucket, err := w.conn.KeyValue(w.t.Context(), directory.Bucket, broker.KVConfig{})
	require.NoError(w.t, err)
	_, err = bucket.Put(w.t.Context(), directory.Complete, nil)
	require.NoError(w.t, err)
	value, err := directory.Encode(e)
	require.NoError(w.t, err)
	_, err = bucket.Put(w.t.Context(), directory.Key(kind, e.GetId()), value)
	require.NoError(w.t, err)
}

const (
	botID   = "01890000-0000-7000-8000-0000000000b0"
	otherID = "01890000-0000-7000-8000-0000000000b1"
)

// program makes a service account of an account with these keys, and returns the id of its actor.
func (w *world) program(id, account string, keys ...*orchv1.DirectoryKey) string {
	actor := id[:len(id)-2] + "a" + id[len(id)-1:]
	w.known(directory.ServiceAccount, &orchv1.DirectoryEntry{Id: id, Actor: &orchv1.DirectoryActor{
		ActorId: actor, Name: "program", AccountId: proto.String(account), AccountRoleId: proto.String(access.AccountMember), Keys: keys,
	}})
	return actor
}

func TestKeysOfServiceAccounts(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	key := func() (string, *orchv1.DirectoryKey) {
		token, digest := auth.NewKey("onb_")
		return token, &orchv1.DirectoryKey{Id: botID, Digest: digest}
	}
	first, firstKey := key()
	second, secondKey := key()
	expired, expiredKey := key()
	expiredKey.Expiration = timestamppb.New(time.Now().Add(-time.Second))
	other, otherKey := key()
	user, userKey := key()
	w.known(directory.Account, &orchv1.DirectoryEntry{Id: account, Account: &orchv1.DirectoryAccount{}})
	w.known(directory.Workspace, &orchv1.DirectoryEntry{Id: workspace, Workspace: &orchv1.DirectoryWorkspace{AccountId: account}})
	actor := w.program(botID, account, firstKey, secondKey, expiredKey)
	otherActor := w.program(otherID, account, otherKey)
	w.known(directory.User, &orchv1.DirectoryEntry{Id: hookID, Actor: &orchv1.DirectoryActor{ActorId: hookID, Keys: []*orchv1.DirectoryKey{userKey}}})
	access1 := &orchv1.DirectoryEntry{Id: workspace, Access: &orchv1.DirectoryAccess{
		WorkspaceId: workspace, ActorId: actor, WorkspaceRoleId: access.WorkspaceViewer,
	}}
	w.known(directory.Access, &orchv1.DirectoryEntry{Id: otherID, Access: &orchv1.DirectoryAccess{
		WorkspaceId: workspace, ActorId: otherActor, WorkspaceRoleId: access.WorkspaceOwner,
	}})
	w.put(slug, &orchv1.WebhookDefinition{Template: static, ServiceAccountId: proto.String(botID)})
	post := func(token string) int {
		return w.do("POST", slug, "{}", "Authorization", "Bearer "+token).status
	}
	log := w.journal()
	require.Equal(t, http.StatusUnauthorized, post(first), "without access to the workspace")
	d := logged(t, log, func(d *orchv1.WebhookDelivery) bool { return d.GetStatus() == http.StatusUnauthorized })
	require.Contains(t, d.GetError(), "no role in the workspace")
	w.known(directory.Access, access1)
	require.Equal(t, http.StatusNoContent, post(first), "at once")
	require.Equal(t, http.StatusNoContent, post(second), "the keys overlap")
	require.Equal(t, http.StatusUnauthorized, w.do("POST", slug, "{}", "Authorization", "Basic "+first).status, "the scheme is Bearer")
	got := w.do("POST", slug, "{}")
	require.Equal(t, http.StatusUnauthorized, got.status)
	require.Equal(t, "Bearer", got.header.Get("WWW-Authenticate"))
	require.Empty(t, got.body)
	unknown, _ := key()
	flipped := first[:len(first)-1] + map[bool]string{true: "b", false: "a"}[first[len(first)-1] == 'a']
	for name, token := range map[string]string{
		"unknown": unknown, "one letter off": flipped, "expired": expired, "another service account's": other, "a user's": user, "malformed": "x",
	} {
		require.Equal(t, http.StatusUnauthorized, post(token), name)
	}

	// A key that is taken away is refused as soon as the broker has the change.
	w.program(botID, account, secondKey)
	require.Eventually(t, func() bool { return post(first) == http.StatusUnauthorized }, waitTime, tick)
	require.Equal(t, http.StatusNoContent, post(second))
	require.NotContains(t, w.logs.String(), second)
}

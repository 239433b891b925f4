package orchestration_test

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/fieldmaskpb"

	"github.com/orch-project/orch/pkg/broker"
	"github.com/orch-project/orch/pkg/directory"
	"github.com/orch-project/orch/pkg/webhookdef"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration"
)

const smallBucket = 64 << 10

func smallBuckets(cfg *orchestration.Config) { cfg.Broker.BucketBytes = smallBucket }

// fillBucket fills a bucket to the last hundred bytes.
func (d *domain) fillBucket(kv *broker.KV) {
	d.t.Helper()
	for _, size := range []int{4000, 400, 10} {
		var err error
		for i := 0; err == nil; i++ {
			_, err = kv.Put(d.t.Context(), fmt.Sprintf("filler%d.%d", size, i), bytes.Repeat([]byte("x"), size))
		}
		require.ErrorIs(d.t, err, broker.ErrUnavailable)
	}
}

// enlarge opens a bucket as a service with a larger setting does at its start.
func (d *domain) enlarge(bucket string) {
	d.t.Helper()
	conn, err := broker.Connect(d.t.Context(), broker.Config{InProcess: d.nats.InProcess(), BucketBytes: 16 * smallBucket})
	require.NoError(d.t, err)
	d.t.Cleanup(func() { conn.Close() })
	_, err = conn.KeyValue(d.t.Context(), bucket, broker.KVConfig{})
	require.NoError(d.t, err)
}

// A revocation arrives although the directory is full. A new key arrives after a larger setting.
func TestAFullDirectoryDelaysKeysUntilItIsLarger(t *testing.T) {
	t.Parallel()
	d := newDomain(t, smallBuckets)
	dir := d.directory()
	valid := func(key string) bool {
		require.True(t, dir.CatchUp(t.Context()))
		_, err := dir.Identify(key)
		return err == nil
	}
	revoked := d.bot("revoked")
	require.Eventually(t, func() bool { return valid(revoked.GetApiKey().GetKey()) }, time.Minute, time.Millisecond)
	kv, err := d.broker.KeyValue(t.Context(), directory.Bucket, broker.KVConfig{})
	require.NoError(t, err)
	d.fillBucket(kv)

	late := d.bot("late")
	call[*emptypb.Empty](d, orchv1.ServiceAccountService_DeleteServiceAccount_FullMethodName,
		&orchv1.DeleteServiceAccountRequest{Id: revoked.GetId()})
	require.False(t, valid(late.GetApiKey().GetKey()), "there is no room for the key")
	d.enlarge(directory.Bucket)
	require.Eventually(t, func() bool {
		return valid(late.GetApiKey().GetKey()) && !valid(revoked.GetApiKey().GetKey())
	}, time.Minute, 10*time.Millisecond)
}

// A larger template and a deletion arrive at a bucket of definitions that was full.
func TestAFullBucketOfWebhooksDelaysChangesUntilItIsLarger(t *testing.T) {
	t.Parallel()
	d := newDomain(t, smallBuckets)
	kv := d.definitions()
	changed, deleted := d.webhook("changed"), d.webhook("deleted")
	require.Eventually(t, func() bool {
		return d.definition(kv, changed.GetSlug()).GetEnabled() && d.definition(kv, deleted.GetSlug()).GetEnabled()
	}, time.Minute, time.Millisecond)
	d.fillBucket(kv)

	template := `{"event": "` + string(bytes.Repeat([]byte("x"), 4000)) + `"}`
	call[*emptypb.Empty](d, orchv1.WebhookService_UpdateWebhook_FullMethodName, &orchv1.UpdateWebhookRequest{
		Id: changed.GetId(), Webhook: &orchv1.WebhookUpdate{Template: template}, UpdateMask: &fieldmaskpb.FieldMask{Paths: []string{"template"}},
	})
	call[*emptypb.Empty](d, orchv1.WebhookService_DeleteWebhook_FullMethodName, &orchv1.DeleteWebhookRequest{Id: deleted.GetId()})
	require.NotEqual(t, template, d.definition(kv, changed.GetSlug()).GetTemplate(), "there is no room for the template")
	d.enlarge(webhookdef.Bucket)
	require.Eventually(t, func() bool {
		return d.definition(kv, changed.GetSlug()).GetTemplate() == template && !d.definition(kv, deleted.GetSlug()).GetEnabled()
	}, time.Minute, 10*time.Millisecond)
}

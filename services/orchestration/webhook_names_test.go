package orchestration_test

import (
	"net/http"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration"
)

// TestUniqueWebhookNames: with the setting, a workspace has one webhook of a name, also when several are created at once. A webhook
// that shares its name from before can be changed.
func TestUniqueWebhookNames(t *testing.T) {
	t.Parallel()
	d := newDomain(t, func(c *orchestration.Config) { c.WebhookUniqueNames = true })
	create := func(name string) error {
		_, _, err := try[*orchv1.Webhook](d, orchv1.WebhookService_CreateWebhook_FullMethodName, &orchv1.CreateWebhookRequest{
			Webhook: &orchv1.WebhookCreate{Name: name, Template: "{}", Enabled: true},
		})
		return err
	}
	var created, refused atomic.Int64
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			err := create("pushes")
			if code, _ := status(err); err != nil && code == http.StatusConflict {
				refused.Add(1)
			} else if err == nil {
				created.Add(1)
			}
		})
	}
	group.Wait()
	require.EqualValues(t, 1, created.Load())
	require.EqualValues(t, 7, refused.Load())

	other := d.webhook("other")
	code, text := status(d.patchWebhook(other.GetId(), &orchv1.WebhookUpdate{Name: "pushes"}, "name"))
	require.Equal(t, http.StatusConflict, code)
	require.Contains(t, text, "has this name")
	require.NoError(t, d.patchWebhook(other.GetId(), &orchv1.WebhookUpdate{Name: "pulls", Description: "renamed"}, "name", "description"))
	require.NoError(t, create("other"), "the old name is free")
	require.NoError(t, d.patchWebhook(other.GetId(), &orchv1.WebhookUpdate{Name: "pulls"}, "name"), "its own name")
}

// TestWebhookNamesRepeatByDefault, as existing clients expect.
func TestWebhookNamesRepeatByDefault(t *testing.T) {
	t.Parallel()
	d := newDomain(t)
	first, second := d.webhook("pushes"), d.webhook("pushes")
	require.NotEqual(t, first.GetId(), second.GetId())
}

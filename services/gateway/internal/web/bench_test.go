package web

import (
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// TestPreviewRendersOneDelivery previews a template as the script does while somebody types.
func TestPreviewRendersOneDelivery(t *testing.T) {
	t.Parallel()
	s := &stub{answers: console()}
	site := siteWith(t, s, nil)
	got := visit(t, site, "/webhooks/webhook/"+someID+"/bench", url.Values{
		"accept": {fragmentType}, "action": {"bench-preview"}, "template": {"{{ body }}"}, "delivery": {someID},
	})
	require.Equal(t, 200, got.Code, got.Body.String())
	require.Contains(t, got.Body.String(), `id="preview"`)
	require.NotContains(t, got.Body.String(), "<html")
	require.Equal(t, []string{orchv1.WebhookService_RenderDelivery_FullMethodName}, s.calls)
	require.Equal(t, "{{ body }}", s.last[orchv1.WebhookService_RenderDelivery_FullMethodName].(*orchv1.RenderDeliveryRequest).GetDraft().GetTemplate())
	require.Less(t, strings.Count(got.Body.String(), "<"), 100)
}

package webhooks

import (
	"context"

	"github.com/orch-project/orch/pkg/webhook/preset"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// ListWebhookPresets returns how webhooks of known providers are set up, in the server's vocabulary.
func (s *Service) ListWebhookPresets(context.Context, *orchv1.ListWebhookPresetsRequest) (*orchv1.WebhookPresetList, error) {
	presets, err := preset.All(s.vocab)
	if err != nil {
		return nil, err
	}
	return &orchv1.WebhookPresetList{Presets: presets}, nil
}

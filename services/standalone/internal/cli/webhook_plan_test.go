package cli

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestDifferencesSendNoUnneededSecret: secrets of an existing webhook travel only for another scheme, or when they are to be
// updated.
func TestDifferencesSendNoUnneededSecret(t *testing.T) {
	github := func(tolerance int, secrets ...any) map[string]any {
		out := map[string]any{"scheme": "github", "tolerance": tolerance}
		if secrets != nil {
			out["secrets"] = secrets
		}
		return out
	}
	gitlab := map[string]any{"scheme": "gitlab", "secrets": []any{"s"}}
	handshakes := map[string]any{"verify_token": "t", "handshakes": []any{"meta", "slack"}}
	current := map[string]any{"name": "w", "verification": github(300), "handshakes": []any{"meta"}}
	for name, c := range map[string]struct {
		wanted, want map[string]any
		secrets      bool
	}{
		"equal":                   {map[string]any{"verification": github(300, "s")}, map[string]any{}, false},
		"equal, update":           {map[string]any{"verification": github(300, "s")}, map[string]any{"verification": github(300, "s")}, true},
		"another tolerance":       {map[string]any{"verification": github(60, "s")}, map[string]any{"verification": github(60)}, false},
		"another scheme":          {map[string]any{"verification": gitlab}, map[string]any{"verification": gitlab}, false},
		"token":                   {map[string]any{"verify_token": "t"}, map[string]any{}, false},
		"token, update":           {map[string]any{"verify_token": "t"}, map[string]any{"verify_token": "t"}, true},
		"token of new handshakes": {handshakes, handshakes, false},
		"no verification":         {map[string]any{"verification": nil}, map[string]any{"verification": nil}, false},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, c.want, differences(current, c.wanted, c.secrets), name)
		})
	}
}

// TestDecodeWebhooks: what could be taken for an empty list by mistake is an error.
func TestDecodeWebhooks(t *testing.T) {
	for text, message := range map[string]string{
		"":                                `no list "webhooks"`,
		"# nothing\n":                     `no list "webhooks"`,
		"webhooks:\n":                     `no list "webhooks"`,
		"webhook: []\n":                   `unknown key "webhook"`,
		"webhooks: []\nother: 1\n":        `unknown key "other"`,
		"webhooks: []\n---\nwebhooks: []": "more than one document",
		"- name: x\n":                     "cannot unmarshal",
		"webhooks: [a]\n":                 "cannot unmarshal",
	} {
		_, err := decodeRecords([]byte(text), webhooksKey)
		require.ErrorContains(t, err, message, "%q", text)
	}
	none, err := decodeRecords([]byte("webhooks: []\n"), webhooksKey)
	require.NoError(t, err)
	require.Empty(t, none)
}

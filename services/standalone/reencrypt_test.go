package standalone_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/secrets"
	"github.com/orch-project/orch/services/orchestration"
	"github.com/orch-project/orch/services/standalone"
)

// TestSecretsAreEncryptedWithTheNewestKey: afterwards blocks and webhooks open with that key alone. A second run finds nothing to
// do, and without the old key the command says that secrets are left.
func TestSecretsAreEncryptedWithTheNewestKey(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "secrets.key")
	s := start(t, dir)
	var kind, schema, document struct{ ID string }
	require.Equal(t, 201, s.ask(http.MethodPost, "/block_types/", `{"name": "Vault", "slug": "vault"}`, &kind))
	require.Equal(t, 201, s.ask(http.MethodPost, "/block_schemas/", fmt.Sprintf(
		`{"block_type_id": %q, "fields": {"title": "Vault", "type": "object", "secret_fields": ["token"], "block_type_slug": "vault"}}`, kind.ID), &schema))
	for i := range 3 {
		require.Equal(t, 201, s.ask(http.MethodPost, "/block_documents/", fmt.Sprintf(
			`{"name": "doc-%d", "block_type_id": %q, "block_schema_id": %q, "data": {"token": "hush-%d"}}`, i, kind.ID, schema.ID, i), &document))
	}
	var hook struct{ URL string }
	require.Equal(t, 201, s.ask(http.MethodPost, "/webhooks/", `{"name": "h", "template": "{\"event\": \"e\", \"resource\": {\"orch.resource.id\": \"r\"}}",
		"verification": {"scheme": "token", "header": "X-Caller", "secrets": ["secret-of-the-sender"]}}`, &hook))
	s.stop()

	old, err := os.ReadFile(file)
	require.NoError(t, err)
	newest := secrets.NewKey()
	require.NoError(t, os.WriteFile(file, []byte(newest+"\n"), 0o600))
	var out strings.Builder
	require.ErrorIs(t, standalone.Reencrypt(t.Context(), dir, &out, quiet), orchestration.ErrReencrypt, "the old key is missing")
	require.Contains(t, out.String(), "blocks: 3 examined, 0 encrypted with the first key, 3 failed")

	require.NoError(t, os.WriteFile(file, []byte(newest+"\n"+string(old)), 0o600))
	status := func(want ...string) {
		out.Reset()
		require.NoError(t, standalone.ReencryptionStatus(t.Context(), dir, &out, quiet))
		for _, line := range want {
			require.Contains(t, out.String(), line)
		}
	}
	status("blocks: 3 examined, 0 encrypted with the first key, 3 left", "webhooks: 1 examined, 0 encrypted with the first key, 1 left")
	out.Reset()
	require.NoError(t, standalone.Reencrypt(t.Context(), dir, &out, quiet))
	require.Contains(t, out.String(), "blocks: 3 examined, 3 encrypted with the first key, 0 failed")
	require.Contains(t, out.String(), "webhooks: 1 examined, 1 encrypted with the first key, 0 failed")
	out.Reset()
	require.NoError(t, standalone.Reencrypt(t.Context(), dir, &out, quiet))
	require.Contains(t, out.String(), "blocks: 3 examined, 0 encrypted with the first key, 0 failed")
	status("blocks: 3 examined, 3 encrypted with the first key, 0 left", "webhooks: 1 examined, 1 encrypted with the first key, 0 left",
		"dead letters: 0 examined")

	require.NoError(t, os.WriteFile(file, []byte(newest+"\n"), 0o600))
	again := start(t, dir)
	var read struct{ Data struct{ Token string } }
	require.Equal(t, 200, again.ask(http.MethodGet, "/block_documents/"+document.ID+"?include_secrets=true", "", &read))
	require.Equal(t, "hush-2", read.Data.Token)
	var hooks []struct{ URL string }
	require.Equal(t, 200, again.ask(http.MethodPost, "/webhooks/filter", "", &hooks))
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, hooks[0].URL, strings.NewReader("{}"))
	require.NoError(t, err)
	r.Header.Set("X-Caller", "secret-of-the-sender")
	response, err := again.http.Do(r)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	require.Equal(t, http.StatusNoContent, response.StatusCode)
}

// TestTheServerEncryptsSecretsWithTheNewestKey: while it has more than one key, a server does so by itself, and shows its progress.
func TestTheServerEncryptsSecretsWithTheNewestKey(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "secrets.key")
	s := start(t, dir)
	var hook struct{ ID string }
	require.Equal(t, 201, s.ask(http.MethodPost, "/webhooks/", `{"name": "h", "template": "{\"event\": \"e\", \"resource\": {\"orch.resource.id\": \"r\"}}",
		"verification": {"scheme": "token", "header": "X-Caller", "secrets": ["secret-of-the-sender"]}}`, &hook))
	s.stop()

	old, err := os.ReadFile(file)
	require.NoError(t, err)
	newest := secrets.NewKey()
	require.NoError(t, os.WriteFile(file, []byte(newest+"\n"+string(old)), 0o600))
	free, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	internal := free.Addr().String()
	require.NoError(t, free.Close())
	rotating := start(t, dir, "ORCH_INTERNAL_LISTEN="+internal)
	require.Eventually(t, func() bool {
		response, err := rotating.http.Get("http://" + internal + "/metrics")
		if err != nil {
			return false
		}
		defer response.Body.Close()
		text, err := io.ReadAll(response.Body)
		return err == nil && strings.Contains(string(text), `orch_reencryption_secrets{kind="dead letters",state="examined"} 0`) &&
			strings.Contains(string(text), `orch_reencryption_secrets{kind="webhooks",state="encrypted"} 1`)
	}, time.Minute, 10*time.Millisecond)
	rotating.stop()

	require.NoError(t, os.WriteFile(file, []byte(newest+"\n"), 0o600))
	var out strings.Builder
	require.NoError(t, standalone.Reencrypt(t.Context(), dir, &out, quiet), "the newest key opens everything")
	require.Contains(t, out.String(), "webhooks: 1 examined, 0 encrypted with the first key, 0 failed")
}

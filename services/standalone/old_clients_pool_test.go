package standalone_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The SDK 3.3.7 and older ones refuse a work pool whose storage configuration has a key of a later version.
func TestOldClientsReadWorkPools(t *testing.T) {
	t.Parallel()
	s := start(t, t.TempDir(), "ORCH_VOCABULARY=prefect")
	ask := func(t *testing.T, agent, method, path, body string) string {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), method, s.api+path, strings.NewReader(body))
		require.NoError(t, err)
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("User-Agent", agent)
		response, err := s.http.Do(r)
		require.NoError(t, err)
		defer response.Body.Close()
		text, err := io.ReadAll(response.Body)
		require.NoError(t, err)
		require.Contains(t, []int{200, 201}, response.StatusCode, string(text))
		return string(text)
	}
	const earlier, later = `"storage_configuration":{"bundle_upload_step":null,"bundle_execution_step":null`, `,"default_result_storage_block_id":null`
	for name, c := range map[string]struct {
		agent string
		knows bool
	}{
		"3.2":                 {"prefect/3.2.15 (API 0.8.4)", false},
		"last that refuses":   {"prefect/3.3.7 (API 0.8.4)", false},
		"candidate of it":     {"prefect/3.3.7rc1 (API 0.8.4)", false},
		"first that knows":    {"prefect/3.3.8 (API 0.8.4)", true},
		"3.4":                 {"prefect/3.4.25 (API 0.8.4)", true},
		"no SDK":              {"curl/8", true},
		"no Python version":   {"prefect/3.3.7zz (API 0.8.4)", true},
		"no whole User-Agent": {"prefect/3.3.7", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pool := "pool-" + strings.NewReplacer(" ", "-", ".", "-").Replace(name)
			want := earlier + "}"
			if c.knows {
				want = earlier + later + "}"
			}
			for path, text := range map[string]string{
				"create": ask(t, c.agent, http.MethodPost, "/work_pools/", `{"name": "`+pool+`", "type": "process", "base_job_template": {"job_configuration": {"default_result_storage_block_id": 1}, "variables": {"type": "object"}}}`),
				"read":   ask(t, c.agent, http.MethodGet, "/work_pools/"+pool, ""),
				"filter": ask(t, c.agent, http.MethodPost, "/work_pools/filter", `{"work_pools": {"name": {"any_": ["`+pool+`"]}}}`),
			} {
				require.Contains(t, text, want, path)
				require.Contains(t, text, `"job_configuration":{"default_result_storage_block_id":1}`, path)
			}
		})
	}
}

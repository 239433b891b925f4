package standalone_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestALongListInAFilterIsTheClientsError: the answer names the list and its bound.
func TestALongListInAFilterIsTheClientsError(t *testing.T) {
	t.Parallel()
	s := start(t, t.TempDir())
	for name, c := range map[string]struct {
		filter, item, path string
		most               int
	}{
		"names":  {`{"flow_runs": {"name": {"any_": [%s]}}}`, `""`, "name.any_", 10_000},
		"tags":   {`{"flow_runs": {"tags": {"all_": [%s]}}}`, `"a"`, "tags.all_", 500},
		"states": {`{"flow_runs": {"state": {"type": {"any_": [%s]}}}}`, `"FAILED"`, "state.type.any_", 10_000},
		"ids":    {`{"flow_runs": {"id": {"any_": [%s]}}}`, `"0195d0a0-0000-7000-8000-000000000001"`, "id.any_", 10_000},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			body := func(n int) string {
				return fmt.Sprintf(c.filter, strings.TrimSuffix(strings.Repeat(c.item+",", n), ","))
			}
			require.Equal(t, http.StatusOK, s.ask(http.MethodPost, "/flow_runs/filter", body(c.most), nil))
			var refused struct {
				Detail []struct {
					Type string `json:"type"`
					Loc  []any  `json:"loc"`
				} `json:"exception_detail"`
			}
			require.Equal(t, http.StatusUnprocessableEntity, s.ask(http.MethodPost, "/flow_runs/filter", body(c.most+1), &refused))
			require.Equal(t, "too_long", refused.Detail[0].Type)
			require.Contains(t, strings.Trim(strings.ReplaceAll(fmt.Sprint(refused.Detail[0].Loc), " ", "."), "[]"), c.path)
		})
	}
	t.Run("a million", func(t *testing.T) {
		t.Parallel()
		body := `{"flow_runs": {"name": {"any_": [` + strings.TrimSuffix(strings.Repeat(`"",`, 1_500_000), ",") + `]}}}`
		require.Equal(t, http.StatusRequestEntityTooLarge, s.ask(http.MethodPost, "/flow_runs/filter", body, nil))
	})
}

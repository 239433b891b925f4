package remote_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/services/standalone/internal/remote"
)

// All reads by tokens, and by offset from a server without them.
func TestAll(t *testing.T) {
	t.Parallel()
	for _, tokens := range []bool{true, false} {
		var requests []map[string]any
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			var query map[string]any
			if err := json.NewDecoder(r.Body).Decode(&query); err != nil {
				w.WriteHeader(http.StatusBadRequest)
				return
			}
			requests = append(requests, query)
			n := len(requests)
			if tokens && n < 3 {
				w.Header().Set("Orch-Next-Page-Token", "t"+strconv.Itoa(n))
			}
			_, _ = w.Write([]byte([]string{"[1, 2]", "[3, 4]", "[5]"}[n-1]))
		}))
		query := map[string]any{"sort": "NAME_ASC"}
		all, err := (&remote.Server{API: server.URL, Client: server.Client()}).All(t.Context(), "/flows/filter", query, 2)
		server.Close()
		require.NoError(t, err)
		require.Len(t, all, 5)
		require.Equal(t, map[string]any{"sort": "NAME_ASC"}, query, "the query is the caller's")
		first := map[string]any{"sort": "NAME_ASC", "limit": 2.}
		second, third := map[string]any{"sort": "NAME_ASC", "limit": 2., "page_token": "t1"}, map[string]any{"sort": "NAME_ASC", "limit": 2., "page_token": "t2"}
		if !tokens {
			second, third = map[string]any{"sort": "NAME_ASC", "limit": 2., "offset": 2.}, map[string]any{"sort": "NAME_ASC", "limit": 2., "offset": 4.}
		}
		require.Equal(t, []map[string]any{first, second, third}, requests)
	}
}

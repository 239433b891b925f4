package web

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestExplorerReadsWithoutAScript lists every operation of the API in the page itself.
func TestExplorerReadsWithoutAScript(t *testing.T) {
	t.Parallel()
	site := siteWith(t, &stub{}, nil)
	got := visit(t, site, "/docs/", nil)
	require.Equal(t, 200, got.Code)
	body := got.Body.String()
	require.Empty(t, inline.FindString(body))
	main := body[strings.Index(body, "<main"):]
	require.Contains(t, main, `<code class="path">/flow_runs/{id}/set_state</code>`)
	require.Contains(t, main, "Read the scatter of flow runs")
	tags, err := site.operations()
	require.NoError(t, err)
	n := 0
	for _, tag := range tags {
		n += len(tag.Operations)
	}
	require.Greater(t, n, 200)
	require.Equal(t, n, strings.Count(main, "<li id="))
	for _, asset := range []string{"/docs/explorer.css", "/docs/explorer.js"} {
		require.Contains(t, body, `"`+asset+`"`)
		require.Equal(t, 200, visit(t, site, asset, nil).Code)
	}
	require.Equal(t, 200, visit(t, site, "/favicon.ico", nil).Code)
}

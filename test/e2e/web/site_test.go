//go:build e2eweb

package web

import (
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// TestSite reads each page of the documents' site in ORCH_TEST_SITE, in light and dark. No page may report an error or request anything from
// elsewhere; diagrams are drawn, and the search finds a page.
func TestSite(t *testing.T) {
	dir := os.Getenv("ORCH_TEST_SITE")
	if dir == "" {
		t.Skip("ORCH_TEST_SITE is not set: make e2e-site sets it")
	}
	server := httptest.NewServer(http.FileServer(http.Dir(dir)))
	t.Cleanup(server.Close)
	browser, seen := open(t, server.URL, 8*time.Minute)
	var diagrams int
	require.NoError(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.Name() != "index.html" {
			return err
		}
		name, err := filepath.Rel(dir, filepath.Dir(path))
		require.NoError(t, err)
		address := server.URL + "/" + filepath.ToSlash(name) + "/"
		for _, scheme := range []string{"light", "dark"} {
			_, err = chromedp.Call(browser, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
				Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
			})
			require.NoError(t, err)
			require.NoError(t, chromedp.Do(browser, chromedp.Navigate(address), chromedp.WaitReady(chromedp.CSS("main"))), address)
			_, err = chromedp.Run(browser, chromedp.Poll[bool](`document.querySelector("pre.mermaid") === null`))
			require.NoError(t, err, "%s: its diagrams", address)
			problems, status := seen.take()
			require.Empty(t, problems, address)
			require.EqualValues(t, http.StatusOK, status, address)
			drawn, err := chromedp.Run(browser, chromedp.Evaluate[int](`document.querySelectorAll("div.mermaid").length`))
			require.NoError(t, err, address)
			diagrams += drawn
		}
		screenshot(browser, t, address, true)
		return nil
	}))
	require.Positive(t, diagrams)

	require.NoError(t, chromedp.Do(browser, chromedp.Navigate(server.URL+"/?q=keyset"), chromedp.WaitVisible(chromedp.CSS(`a.md-search-result__link`))))
	problems, _ := seen.take()
	require.Empty(t, problems, "search")
}

//go:build e2eweb

package web

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/test/e2e"
)

// The templates of the journeys. The broken one quotes a text of the request itself, so a quotation mark ends the value.
const (
	brokenTemplate = `{"event": "console.push", "resource": {"orch.resource.id": "console"}, "payload": {"text": "{{ body.text }}"}}`
	mendedTemplate = `{"event": "console.push", "resource": {"orch.resource.id": "console"}, "payload": {"text": {{ body.text | tojson }}}}`
)

const (
	// failing is the number of failed deliveries of the journeys: three batches of a replay at least.
	failing = 60
	// buffered is the number of failures that a webhook may buffer between two flushes of the log; it drops others.
	buffered = 20
)

// startWait bounds waiting for a condition on a busy machine, and poll is the interval of its checks.
const (
	startWait = time.Minute
	poll      = 50 * time.Millisecond
)

// webhookWith creates a webhook, posts failing requests that it refuses, and waits until the log has all of them.
func webhookWith(t *testing.T, api, template string) (id, address string) {
	t.Helper()
	var webhook struct {
		ID  string `json:"id"`
		URL string `json:"url"`
	}
	require.Equal(t, http.StatusCreated, call(t, http.MethodPost, api+"/webhooks/", object{"name": "console", "template": template}, &webhook))
	for i := range failing {
		require.Equal(t, http.StatusBadRequest, deliver(t, webhook.URL, i))
		if (i+1)%buffered == 0 {
			logged(t, api, webhook.ID, i+1)
		}
	}
	return webhook.ID, webhook.URL
}

// logged waits until the log of a webhook has a number of deliveries.
func logged(t *testing.T, api, id string, want int) {
	t.Helper()
	require.Eventually(t, func() bool {
		var deliveries []struct{}
		status := call(t, http.MethodPost, api+"/webhooks/"+id+"/deliveries/filter", object{"limit": 200}, &deliveries)
		return status == http.StatusOK && len(deliveries) == want
	}, startWait, poll)
}

// accepts waits until the webhook accepts the request that its broken template refuses. It returns the number of
// refusals until then.
func accepts(t *testing.T, address string) (refused int) {
	t.Helper()
	require.Eventually(t, func() bool {
		if deliver(t, address, failing) == http.StatusNoContent {
			return true
		}
		refused++
		return false
	}, startWait, poll)
	return refused
}

// deliver posts a request whose text has quotation marks, and returns the status.
func deliver(t *testing.T, address string, i int) int {
	t.Helper()
	return call(t, http.MethodPost, address, object{"text": fmt.Sprintf(`number "%d"`, i)}, nil)
}

// call sends a JSON body and returns the status. It decodes the response into a target that is not nil.
func call(t *testing.T, method, address string, body, target any) int {
	t.Helper()
	encoded, err := json.Marshal(body)
	require.NoError(t, err)
	request, err := http.NewRequestWithContext(t.Context(), method, address, bytes.NewReader(encoded))
	require.NoError(t, err)
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	defer func() { require.NoError(t, response.Body.Close()) }()
	if target != nil {
		require.NoError(t, json.NewDecoder(response.Body).Decode(target))
	}
	return response.StatusCode
}

// shown waits until the element that an XPath selects is visible, on this page or on one that a form leads to.
func shown(path string) chromedp.Action[chromedp.Void] {
	return func(ctx context.Context, target *chromedp.Target) (none chromedp.Void, err error) {
		checks := time.NewTicker(poll)
		defer checks.Stop()
		for {
			// Between two pages, the context of the old one is gone.
			if none, err = chromedp.WaitVisible(path)(ctx, target); err == nil || !strings.Contains(err.Error(), "Cannot find context") {
				return none, err
			}
			select {
			case <-checks.C:
			case <-ctx.Done():
				return none, err
			}
		}
	}
}

// TestBenchMendsAWebhook types a template that renders every recorded request, sees its preview without a reload, checks
// it with the last deliveries, and saves it. Then the webhook accepts the request that it refused.
func TestBenchMendsAWebhook(t *testing.T) {
	o := e2e.StartSingle(t, programs, t.TempDir())
	id, address := webhookWith(t, o.API(), brokenTemplate)
	browser, seen := open(t, o.URL, 3*time.Minute)
	bench := o.URL + "/webhooks/webhook/" + id + "/bench"
	require.NoError(t, chromedp.Do(browser,
		chromedp.Navigate(bench),
		shown(`//*[@id="preview"]//h2[contains(., "Error")]`),
		chromedp.SetValue(chromedp.CSS("#template"), strings.TrimSuffix(mendedTemplate, "}")),
		chromedp.SendKeys(chromedp.CSS("#template"), "}"),
		shown(`//*[@id="preview"]//h2[contains(., "Event")]`),
		shown(`//*[@id="preview"]//*[contains(., "console.push")]`),
	))
	require.Equal(t, http.StatusBadRequest, deliver(t, address, failing), "a preview saves nothing")
	require.NoError(t, chromedp.Do(browser,
		chromedp.Click(`//button[@value="bench-check"]`),
		shown(`//*[@id="check"]//*[@role="status"][contains(., "50 mended, 0 broken")]`),
		chromedp.Click(`//*[@id="check"]//button`),
		shown(`//*[contains(@class, "notice")][contains(., "template are saved")]`),
	))
	problems, status := seen.take()
	require.Empty(t, problems)
	require.EqualValues(t, http.StatusOK, status)
	accepts(t, address)
}

// TestReplayStopsAndContinues replays a range of three batches in the browser, stops it after the first, and continues it
// to the end. Each failed delivery is replayed once.
func TestReplayStopsAndContinues(t *testing.T) {
	o := e2e.StartSingle(t, programs, t.TempDir())
	id, address := webhookWith(t, o.API(), brokenTemplate)
	require.Equal(t, http.StatusNoContent, call(t, http.MethodPatch, o.API()+"/webhooks/"+id, object{"template": mendedTemplate}, nil))
	refused := accepts(t, address)
	logged(t, o.API(), id, failing+refused+1)
	total := failing + refused
	browser, seen := open(t, o.URL, 3*time.Minute)
	require.NoError(t, chromedp.Do(browser,
		chromedp.Navigate(o.URL+"/webhooks/webhook/"+id+"/replay"),
		shown(fmt.Sprintf(`//form[@data-replay]//strong[.="%d deliveries"]`, total)),
		chromedp.WaitNotVisible(chromedp.CSS("[data-stop]")),
		// The two clicks are one task of the browser, so the stop comes before the first response.
		chromedp.Func(func(ctx context.Context, tab *chromedp.Target) error {
			_, err := chromedp.Evaluate[bool](`document.querySelector("[data-go]").click(), document.querySelector("[data-stop]").click(), true`)(ctx, tab)
			return err
		}),
		shown(fmt.Sprintf(`//*[@id="replay"]//*[@role="status"][contains(., "25 of %d replayed")]`, total)),
		shown(`//button[@data-go]`),
		chromedp.Click(`//button[@data-go]`),
		shown(fmt.Sprintf(`//*[@id="replay"]//*[@role="status"][contains(., "%[1]d of %[1]d replayed")][contains(., "%[1]d became events")][contains(., "Finished")]`, total)),
	))
	problems, status := seen.take()
	require.Empty(t, problems)
	require.EqualValues(t, http.StatusOK, status)
}

// TestNewWebhookFromPreset creates a webhook from a preset. The webhook has the fields of the preset that the form does not
// show: the header and the prefix of the token.
func TestNewWebhookFromPreset(t *testing.T) {
	o := e2e.StartSingle(t, programs, t.TempDir())
	browser, seen := open(t, o.URL, 3*time.Minute)
	require.NoError(t, chromedp.Do(browser,
		chromedp.Navigate(o.URL+"/webhooks/new"),
		chromedp.SetValue(chromedp.CSS("select[name=preset]"), "alertmanager"),
		chromedp.Click(`//button[.="Use"]`),
		shown(`//p[contains(@class, "notice")][contains(., "Alertmanager")]`),
		chromedp.SetValue(chromedp.CSS("input[name=name]"), "alerts"),
		chromedp.SetValue(chromedp.CSS("textarea[name=secrets]"), strings.Repeat("s", 32)),
		chromedp.Click(`//button[.="Create the webhook"]`),
		shown(`//*[contains(@class, "notice")][contains(., "webhook is created")]`),
	))
	problems, status := seen.take()
	require.Empty(t, problems)
	require.EqualValues(t, http.StatusOK, status)
	var webhooks []struct {
		Name         string         `json:"name"`
		Verification map[string]any `json:"verification"`
	}
	require.Equal(t, http.StatusOK, call(t, http.MethodPost, o.API()+"/webhooks/filter", object{}, &webhooks))
	require.Len(t, webhooks, 1)
	require.Equal(t, "alerts", webhooks[0].Name)
	require.Equal(t, "token", webhooks[0].Verification["scheme"])
	require.Equal(t, "Authorization", webhooks[0].Verification["header"])
	require.Equal(t, "Bearer ", webhooks[0].Verification["prefix"])
}

// TestReplayContinuesAfterAFailedRequest lets the first request of a replay fail. The next click replays each batch once.
func TestReplayContinuesAfterAFailedRequest(t *testing.T) {
	o := e2e.StartSingle(t, programs, t.TempDir())
	id, address := webhookWith(t, o.API(), brokenTemplate)
	require.Equal(t, http.StatusNoContent, call(t, http.MethodPatch, o.API()+"/webhooks/"+id, object{"template": mendedTemplate}, nil))
	refused := accepts(t, address)
	logged(t, o.API(), id, failing+refused+1)
	total := failing + refused
	browser, _ := open(t, o.URL, 3*time.Minute)
	require.NoError(t, chromedp.Do(browser,
		chromedp.Navigate(o.URL+"/webhooks/webhook/"+id+"/replay"),
		shown(`//button[@data-go]`),
	))
	_, err := chromedp.Run(browser, chromedp.Evaluate[bool](`(() => {
		const real = window.fetch;
		window.posts = 0;
		window.fetch = (...args) => ++window.posts === 1 ? Promise.reject(new Error("the network is away")) : real(...args);
		return true;
	})()`))
	require.NoError(t, err)
	require.NoError(t, chromedp.Do(browser, chromedp.Click(`//button[@data-go]`)))
	require.Eventually(t, func() bool {
		idle, err := chromedp.Run(browser, chromedp.Evaluate[bool](`window.posts === 1 && !document.querySelector("[data-go]").hidden`))
		return err == nil && idle
	}, startWait, poll)
	require.NoError(t, chromedp.Do(browser,
		chromedp.Click(`//button[@data-go]`),
		shown(fmt.Sprintf(`//*[@id="replay"]//*[@role="status"][contains(., "%[1]d of %[1]d replayed")][contains(., "Finished")]`, total)),
	))
	posts, err := chromedp.Run(browser, chromedp.Evaluate[int](`window.posts`))
	require.NoError(t, err)
	require.Equal(t, 1+(total+24)/25, posts)
}

// TestCopyWithoutClipboard copies an id on a page without navigator.clipboard, as http origins are, by the selection.
func TestCopyWithoutClipboard(t *testing.T) {
	o := e2e.StartSingle(t, programs, t.TempDir())
	var webhook struct {
		ID string `json:"id"`
	}
	require.Equal(t, http.StatusCreated, call(t, http.MethodPost, o.API()+"/webhooks/", object{"name": "console", "template": mendedTemplate}, &webhook))
	browser, _ := open(t, o.URL, 3*time.Minute)
	require.NoError(t, chromedp.Do(browser, chromedp.Navigate(o.URL+"/webhooks/webhook/"+webhook.ID), shown(`//button[@data-copy]`)))
	_, err := chromedp.Run(browser, chromedp.Evaluate[bool](`(() => {
		Object.defineProperty(navigator, "clipboard", { value: undefined });
		document.addEventListener("copy", () => { window.copied = document.activeElement.value; });
		return true;
	})()`))
	require.NoError(t, err)
	require.NoError(t, chromedp.Do(browser, chromedp.Click(chromedp.CSS("button[data-copy]")), shown(`//button[@data-copy][contains(@class, "good")]`)))
	copied, err := chromedp.Run(browser, chromedp.Evaluate[string](`window.copied`))
	require.NoError(t, err)
	require.Equal(t, webhook.ID, copied)
}

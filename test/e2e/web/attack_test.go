//go:build e2eweb

package web

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/test/e2e"
)

// untouched reports what a text of the corpus made of a page: a script that ran, or an element that no page has.
const untouched = `(() => {
	const main = document.querySelector("main");
	const strays = [...main.querySelectorAll("iframe, object, embed, base, meta, link, style, svg script, math, video, audio, marquee, template, [src^='//'], img:not(figure.chart > .plot > img), form[action^='javascript'], a[href^='javascript' i], a[href^='data' i], a[href^='vbscript' i]")].map((e) => e.outerHTML.slice(0, 100));
	for (const e of main.querySelectorAll("*")) for (const a of e.attributes) if (/^on/i.test(a.name)) strays.push(e.outerHTML.slice(0, 100));
	if (window.attacked) strays.push("a script ran");
	return strays;
})()`

// TestCorpusIsText stores the texts of the corpus wherever a user's text goes, and opens the pages that show them.
func TestCorpusIsText(t *testing.T) {
	texts := corpus()
	require.Greater(t, len(texts), 290)
	o := e2e.StartSingle(t, programs, t.TempDir())
	s := seeder{t, o.API()}
	flow := s.post("/flows/", object{"name": "corpus"})
	var runs, paths []string
	messages := []object{}
	for _, text := range texts {
		run := s.post("/flow_runs/", object{"flow_id": flow, "name": text, "tags": []string{text}, "parameters": object{text: text}, "state": object{"type": "FAILED", "name": text, "message": text}})
		runs = append(runs, run)
		messages = append(messages, object{"name": text, "level": 40, "message": text, "timestamp": time.Now().UTC().Format(time.RFC3339Nano), "flow_run_id": runs[0]})
	}
	s.post("/logs/", messages)
	s.post("/logs/", []object{{"name": "long", "level": 20, "message": strings.Repeat("<b>", 300_000), "timestamp": time.Now().UTC().Format(time.RFC3339Nano), "flow_run_id": runs[1]}})
	task := s.post("/task_runs/", object{"flow_run_id": runs[0], "task_key": texts[0], "dynamic_key": "0", "name": strings.Join(texts[:8], " "), "state": object{"type": "RUNNING"}})
	markdown := s.post("/artifacts/", object{"key": "corpus", "type": "markdown", "description": strings.Join(texts[:8], " "), "data": strings.Join(texts, "\n\n"), "flow_run_id": runs[0]})
	cells, err := json.Marshal(texts)
	require.NoError(t, err)
	table := s.post("/artifacts/", object{"key": "corpus-table", "type": "table", "data": string(cells), "flow_run_id": runs[0]})
	variable := s.post("/variables/", object{"name": "corpus", "value": texts[:60]})
	automation := s.post("/automations/", object{
		"name": texts[0], "description": strings.Join(texts, "\n\n"), "trigger": object{"type": "event", "posture": "Reactive", "expect": texts[:50], "threshold": 1, "within": 0},
		"actions": []object{{"type": "do-nothing"}},
	})
	for i, name := range plainCorpus() {
		if i == 20 {
			break
		}
		s.post("/flows/", object{"name": fmt.Sprint(name, " ", i)})
	}
	webhook, addresses := hostileWebhook(t, o.API(), texts)
	paths = append(paths, "/", "/runs?n=200", "/runs?n=200&chart=histogram", "/flows", "/flows/flow/"+flow, "/runs/flow-run/"+runs[0], "/runs/flow-run/"+runs[0]+"/logs", "/runs/flow-run/"+runs[1]+"/logs",
		"/runs/flow-run/"+runs[0]+"/parameters", "/runs/flow-run/"+runs[0]+"/states", "/runs/flow-run/"+runs[0]+"/tasks", "/runs/flow-run/"+runs[0]+"/artifacts", "/runs/flow-run/"+runs[0]+"/events",
		"/runs/task-run/"+task, "/artifacts", "/artifacts/artifact/"+markdown, "/artifacts/artifact/"+table, "/variables", "/variables/variable/"+variable,
		"/automations", "/automations/automation/"+automation, "/automations/automation/"+automation+"/edit", "/events", "/webhooks", "/webhooks/webhook/"+webhook+"?n=200", "/webhooks/webhook/"+webhook+"/bench", "/webhooks/webhook/"+webhook+"/edit")
	paths = append(paths, addresses...)
	for _, text := range texts[:40] { // In the address itself.
		paths = append(paths, "/runs?q="+url.QueryEscape(text), "/runs?state="+url.QueryEscape(text))
	}
	browser, seen := open(t, o.URL, 8*time.Minute)
	for _, path := range paths {
		_, err := chromedp.Run(browser, chromedp.Navigate(o.URL+path))
		require.NoError(t, err, path)
		strays, err := chromedp.Run(browser, chromedp.Evaluate[[]string](untouched))
		require.NoError(t, err, path)
		require.Empty(t, strays, path)
		problems, status := seen.take()
		if status == http.StatusBadRequest { // Chromium logs the status of the document itself.
			problems = nil
		}
		require.Empty(t, problems, path)
		require.Contains(t, []int64{http.StatusOK, http.StatusBadRequest}, status, path)
	}
	t.Logf("%d texts on %d pages", len(texts), len(paths))
}

// hostileWebhook creates a webhook and posts the texts as bodies, headers, paths and queries. It returns the id and the paths of some
// deliveries.
func hostileWebhook(t *testing.T, api string, texts []string) (id string, paths []string) {
	t.Helper()
	var webhook struct{ ID, URL string }
	require.Equal(t, http.StatusCreated, call(t, http.MethodPost, api+"/webhooks/", object{"name": texts[0], "description": strings.Join(texts[:8], " "), "template": mendedTemplate}, &webhook))
	require.Eventually(t, func() bool { return deliver(t, webhook.URL, 0) == http.StatusNoContent }, startWait, poll)
	for i, text := range texts {
		body := text
		if i%3 == 0 {
			encoded, err := json.Marshal(object{"text": text})
			require.NoError(t, err)
			body = string(encoded)
		}
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, webhook.URL+"?q="+url.QueryEscape(text), strings.NewReader(body))
		require.NoError(t, err)
		if !strings.ContainsAny(text, "\n\r\x00\x01\x1b\x07\x7f") {
			request.Header.Set("X-Text", text)
		}
		response, err := http.DefaultClient.Do(request)
		require.NoError(t, err)
		require.NoError(t, response.Body.Close())
	}
	var deliveries []struct{ ID string }
	require.Eventually(t, func() bool {
		status := call(t, http.MethodPost, api+"/webhooks/"+webhook.ID+"/deliveries/filter", object{"limit": 200}, &deliveries)
		return status == http.StatusOK && len(deliveries) >= 20
	}, startWait, poll)
	for _, d := range deliveries[:20] {
		paths = append(paths, "/webhooks/webhook/"+webhook.ID+"/deliveries/"+d.ID)
	}
	return webhook.ID, paths
}

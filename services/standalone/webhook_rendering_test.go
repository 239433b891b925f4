package standalone_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/reflect/protoreflect"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

const unseen = `{"event": "device.seen", "resource": {"orch.resource.id": "r", "orch.resource.name": "{{ body.device.name }}"}}`

// hook is a webhook under test.
type hook struct {
	s       *server
	ID, URL string
}

func (s *server) hook(body string) hook {
	s.t.Helper()
	w := hook{s: s}
	require.Equal(s.t, 201, s.ask(http.MethodPost, "/webhooks/", body, &w))
	return w
}

// delivered is an entry of the delivery log.
type delivered struct {
	ID        string
	Status    int
	Reason    *string
	Handshake *string
}

// send posts a body, and returns the status of the response.
func (w hook) send(method, contentType, body string) int {
	w.s.t.Helper()
	r, err := http.NewRequestWithContext(w.s.t.Context(), method, w.URL, strings.NewReader(body))
	require.NoError(w.s.t, err)
	r.Header.Set("Content-Type", contentType)
	response, err := w.s.http.Do(r)
	require.NoError(w.s.t, err)
	require.NoError(w.s.t, response.Body.Close())
	return response.StatusCode
}

// deliveries waits until the log has n requests, and returns them, the latest first.
func (w hook) deliveries(n int) []delivered {
	w.s.t.Helper()
	var found []delivered
	require.Eventually(w.s.t, func() bool {
		found = nil
		return w.s.ask(http.MethodPost, "/webhooks/"+w.ID+"/deliveries/filter", `{}`, &found) == 200 && len(found) >= n
	}, waitTimeout, tick, "the log has all deliveries")
	return found
}

// rendered is what a webhook would make of a delivery.
type rendered struct {
	Event struct {
		Event   string
		Related []map[string]string
	}
	Error     *struct{ Message, Stage string }
	Handshake *string
	Filtered  bool
	Response  *struct{ Body string }
}

// render renders a delivery with a draft of the template; empty means the webhook's.
func (w hook) render(delivery, draft string) rendered {
	w.s.t.Helper()
	body := ""
	if draft != "" {
		text, err := json.Marshal(map[string]string{"template": draft})
		require.NoError(w.s.t, err)
		body = string(text)
	}
	var got rendered
	require.Equal(w.s.t, 200, w.s.ask(http.MethodPost, "/webhooks/"+w.ID+"/deliveries/"+delivery+"/render", body, &got))
	return got
}

func (w hook) replay(delivery string) delivered {
	w.s.t.Helper()
	var got delivered
	require.Equal(w.s.t, 200, w.s.ask(http.MethodPost, "/webhooks/"+w.ID+"/deliveries/"+delivery+"/replay", "", &got))
	return got
}

func (w hook) update(body string) {
	w.s.t.Helper()
	require.Contains(w.s.t, []int{200, 204}, w.s.ask(http.MethodPatch, "/webhooks/"+w.ID, body, nil), body)
}

func TestTheBenchIsAsStrictAsTheWebhook(t *testing.T) {
	t.Parallel()
	s := start(t, t.TempDir())
	text, err := json.Marshal(map[string]string{"name": "strict", "undefined": "strict", "template": unseen})
	require.NoError(t, err)
	w := s.hook(string(text))
	require.Equal(t, http.StatusBadRequest, w.send(http.MethodPost, "application/json", `{"device": {}}`), "the webhook is strict")
	w.deliveries(1)
	shown := s.page("/webhooks/webhook/" + w.ID + "/bench")
	require.Contains(t, shown, "400 template")
	require.Contains(t, shown, "has no name", "the preview fails as the delivery did")
}

// settingEffects has the settings of a webhook that decide what it makes of a verified request: a change, and a request whose outcome
// changes with it.
var settingEffects = map[protoreflect.Name]struct {
	method, body string // The default method is POST.
	change       string
	outcome      func(rendered) bool
	replayed     func(delivered) bool
	status       int // Of the same request, sent again.
}{
	"name": {
		body: `{"device": {"name": "n"}}`, change: `{"name": "renamed"}`, status: 204,
		outcome: func(r rendered) bool {
			return len(r.Event.Related) == 1 && r.Event.Related[0]["orch.resource.name"] == "renamed"
		},
		replayed: func(d delivered) bool { return d.Status == 204 },
	},
	"template": {
		body: `{"device": {"name": "n"}}`, change: `{"template": "{{ 1 / 0 }}"}`, status: 400,
		outcome:  func(r rendered) bool { return r.Error != nil && r.Error.Stage == "template" },
		replayed: func(d delivered) bool { return d.Status == 400 && *d.Reason == "template" },
	},
	"undefined": {
		body: `{"device": {}}`, change: `{"undefined": "strict"}`, status: 400,
		outcome:  func(r rendered) bool { return r.Error != nil && r.Error.Stage == "template" },
		replayed: func(d delivered) bool { return d.Status == 400 && *d.Reason == "template" },
	},
	"filter": {
		body: `{"device": {"name": "n"}}`, change: `{"filter": "body.device.name != 'n'"}`, status: 204,
		outcome:  func(r rendered) bool { return r.Filtered && r.Error == nil && r.Event.Event == "" },
		replayed: func(d delivered) bool { return d.Status == 204 && d.Reason != nil && *d.Reason == "filtered" },
	},
	"filter_error": {
		body: `{"device": {"name": "n"}}`, change: `{"filter": "body.device.name > 1", "filter_error": "filtered"}`, status: 204,
		outcome:  func(r rendered) bool { return r.Filtered && r.Error != nil && r.Error.Stage == "filter" },
		replayed: func(d delivered) bool { return d.Status == 204 && d.Reason != nil && *d.Reason == "filtered" },
	},
	"response": {
		body: `{"device": {"name": "n"}}`, change: `{"response": {"status": 202, "body": "{{ body.device.name }}"}}`, status: 202,
		outcome:  func(r rendered) bool { return r.Response != nil && r.Response.Body == "n" && r.Event.Event != "" },
		replayed: func(d delivered) bool { return d.Status == 202 && d.Reason == nil },
	},
	"methods": {
		method: http.MethodPut, body: `{"device": {"name": "n"}}`, change: `{"methods": ["POST"]}`, status: 405,
		outcome:  func(r rendered) bool { return r.Error != nil && r.Error.Stage == "request" },
		replayed: func(d delivered) bool { return d.Status == 405 && *d.Reason == "method" },
	},
	"handshakes": {
		body: `{"type": "url_verification", "challenge": "c"}`, change: `{"handshakes": ["slack"]}`, status: 200,
		outcome:  func(r rendered) bool { return r.Handshake != nil && *r.Handshake == "slack" && r.Error == nil },
		replayed: func(d delivered) bool { return d.Status == 200 && *d.Handshake == "slack" },
	},
}

// settingsWithoutEffect has the other settings of a webhook, and why a rendering does not depend on them.
var settingsWithoutEffect = map[protoreflect.Name]string{
	"description":        "a text for people",
	"enabled":            "a disabled webhook is tried before it is enabled",
	"service_account_id": "the log has no credentials; the delivery passed this check when it arrived",
	"verification":       "the log has no signatures; the delivery passed this check when it arrived",
	"verify_token":       "the log masks the token of Meta's handshake",
	"allowed_ips":        "the delivery passed this check when it arrived; its sender may have another address since",
	"rate_limit":         "it depends on other requests",
	"deduplication":      "it decides about a second delivery; nothing is published",
	"max_silence":        "it decides about the absence of requests",
}

// A rendering, a replay and the request itself have the same outcome, whatever setting of the webhook changes.
func TestRenderingsHonourEverySettingOfAWebhook(t *testing.T) {
	t.Parallel()
	s := start(t, t.TempDir())
	var settings []protoreflect.Name
	fields := (&orchv1.WebhookCreate{}).ProtoReflect().Descriptor().Fields()
	for i := range fields.Len() {
		settings = append(settings, fields.Get(i).Name())
	}
	tested := slices.AppendSeq(slices.Collect(maps.Keys(settingEffects)), maps.Keys(settingsWithoutEffect))
	require.ElementsMatch(t, settings, tested, "each setting of a webhook has its effect here, or a reason for none")
	for name, c := range settingEffects {
		t.Run(string(name), func(t *testing.T) {
			t.Parallel()
			s := s.forTest(t)
			if c.method == "" {
				c.method = http.MethodPost
			}
			text, err := json.Marshal(map[string]string{"name": "original", "template": unseen})
			require.NoError(t, err)
			w := s.hook(string(text))
			require.Equal(t, http.StatusNoContent, w.send(c.method, "application/json", c.body))
			delivery := w.deliveries(1)[0].ID
			require.False(t, c.outcome(w.render(delivery, "")), "before the change")
			w.update(c.change)
			require.True(t, c.outcome(w.render(delivery, "")), "the rendering follows the setting")
			require.True(t, c.replayed(w.replay(delivery)), "so does the replay")
			require.Eventually(t, func() bool { return w.send(c.method, "application/json", c.body) == c.status }, waitTimeout, tick, "and so does the webhook")
		})
	}
}

// A check counts as good what a replay with the same template accepts, and no other deliveries.
func TestNumbersOfACheckAreThoseOfAReplay(t *testing.T) {
	t.Parallel()
	s := start(t, t.TempDir())
	text, err := json.Marshal(map[string]any{"name": "strict", "undefined": "strict", "template": unseen, "methods": []string{"POST", "PUT"}})
	require.NoError(t, err)
	w := s.hook(string(text))
	const jsonType, latin = "application/json", "text/plain; charset=iso-8859-1"
	for _, request := range []struct {
		method, contentType, body string
		status                    int
	}{
		{http.MethodPost, jsonType, `{"device": {"name": "a"}}`, 204},
		{http.MethodPost, jsonType, `{"device": {"name": "b", "kind": "x"}}`, 204},
		{http.MethodPost, jsonType, `{"device": {"kind": "only a kind"}}`, 400},
		{http.MethodPut, jsonType, `{"device": {"kind": "by a method that goes"}}`, 400},
		{http.MethodPost, latin, "caf\xe9", 400},
		{http.MethodPost, jsonType, `{}`, 400},
		{http.MethodPost, "application/x-www-form-urlencoded", "device=1", 400},
	} {
		t.Run(request.method, func(t *testing.T) {
			require.Equal(t, request.status, w.send(request.method, request.contentType, request.body), request.body)
		})
	}
	const all = 7
	deliveries := w.deliveries(all)
	w.update(`{"methods": ["POST"]}`)
	// It needs a name, a kind, or the text with its accent.
	const draft = `{"event": "device.{{ 'text' if body == 'café' else body.device.name if body.device.name is defined else body.device.kind }}", "resource": {"orch.resource.id": "r"}}`
	summary := s.check(w, draft)
	good := map[string]bool{}
	for _, d := range deliveries {
		good[d.ID] = w.render(d.ID, draft).Error == nil
	}
	text, err = json.Marshal(map[string]string{"template": draft})
	require.NoError(t, err)
	w.update(string(text))
	accepted, mended, failing := 0, 0, 0
	for _, d := range deliveries {
		ok := w.replay(d.ID).Status == http.StatusNoContent
		require.Equal(t, ok, good[d.ID], "the rendering and the replay of %v", d)
		switch {
		case ok && d.Status == http.StatusNoContent:
			accepted++
		case ok:
			mended++
		default:
			failing++
		}
	}
	require.Equal(t, []int{2, 2, 3}, []int{accepted, mended, failing})
	require.Contains(t, summary, fmt.Sprintf("%d requests: 0 same, %d changed, %d mended, 0 broken, %d still failing", all, accepted, mended, failing))
}

// check posts a draft to the check of the bench, and returns the page.
func (s *server) check(w hook, draft string) string {
	s.t.Helper()
	return s.submit("/webhooks/webhook/"+w.ID+"/bench", url.Values{"action": {"bench-check"}, "template": {draft}})
}

func TestAFailureThatWasReplayedIsNoCauseAnyMore(t *testing.T) {
	t.Parallel()
	s := start(t, t.TempDir())
	text, err := json.Marshal(map[string]string{"name": "strict", "undefined": "strict", "template": unseen})
	require.NoError(t, err)
	w := s.hook(string(text))
	require.Equal(t, http.StatusBadRequest, w.send(http.MethodPost, "application/json", `{"device": {}}`))
	delivery := w.deliveries(1)[0].ID
	issues := func() int {
		var list []struct{ Count int }
		require.Equal(t, 200, s.ask(http.MethodPost, "/webhooks/"+w.ID+"/issues", "", &list))
		return len(list)
	}
	page := "/webhooks/webhook/" + w.ID
	require.Equal(t, http.StatusBadRequest, w.replay(delivery).Status, "a replay that fails counts nothing")
	require.Equal(t, 1, issues())
	require.Contains(t, s.page(page), "Why deliveries fail")
	w.update(`{"undefined": "lenient"}`)
	require.Equal(t, http.StatusNoContent, w.replay(delivery).Status)
	require.Zero(t, issues())
	require.NotContains(t, s.page(page), "Why deliveries fail", "the page and the command agree")
}

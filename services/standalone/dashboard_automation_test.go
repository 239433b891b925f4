package standalone_test

import (
	"maps"
	"net/http"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"
)

// An automation is made, changed as a form and as JSON, refused at a field, and kept from two editors, without scripts.
func TestTheDashboardEditsAutomations(t *testing.T) {
	t.Parallel()
	s := start(t, t.TempDir())
	form := func(changes url.Values) url.Values {
		all := url.Values{
			"action": {"automate"}, "p.name": {"ship"}, "p.enabled": {"1"}, "p.trigger/type": {`"event"`}, "p.trigger/posture": {`"Proactive"`}, "p.trigger/expect": {"order.placed\r\norder.paid"},
			"p.trigger/match": {"shop = a*\r\nshop = b"}, "p.trigger/match_related": {"kind = x\r\n\r\nkind = y"}, "p.trigger/within": {"1 h 30 min"}, "p.trigger/threshold": {"2"},
			"p.actions/#": {"1"}, "p.actions/0/type": {`"run-deployment"`}, "p.actions/0/source": {`"inferred"`}, "p.actions/0/parameters": {`{"order": "{{ event.payload }}"}`}, "p.tags": {"shop"},
		}
		maps.Copy(all, changes)
		return all
	}
	const create = "/automations/new"
	require.Contains(t, s.page(create+"?template=failed"), "flow-run.Crashed</textarea>")
	require.Contains(t, s.submit(create, form(url.Values{"p.trigger/within": {"5 s"}})), "must be greater than or equal to 10 seconds</p>")
	require.Contains(t, s.submit(create, form(url.Values{"p.actions/0/parameters": {`{"order": "{{ x"}`}})), `aria-describedby="p.actions/0/parameters-error"`)
	require.Contains(t, s.submit(create, form(url.Values{"try": {"yes"}})), "it would have fired")
	s.submit(create, form(nil))
	id := s.only("/automations/filter")
	read := func() (got struct {
		Name    string
		Trigger map[string]any
		Actions []map[string]any
		Tags    []string
	},
	) {
		require.Equal(t, http.StatusOK, s.ask(http.MethodGet, "/automations/"+id, "", &got))
		delete(got.Trigger, "id")
		return got
	}
	got := read()
	require.Equal(t, map[string]any{
		"type": "event", "posture": "Proactive", "expect": []any{"order.placed", "order.paid"}, "match": map[string]any{"shop": []any{"a*", "b"}},
		"match_related": []any{map[string]any{"kind": "x"}, map[string]any{"kind": "y"}}, "within": 5400., "threshold": 2., "for_each": []any{}, "after": []any{},
	}, got.Trigger)
	require.Equal(t, map[string]any{"order": "{{ event.payload }}"}, got.Actions[0]["parameters"])
	require.Equal(t, []string{"shop"}, got.Tags)

	page := "/automations/automation/" + id + "/edit"
	changes := url.Values{
		"action": {"automation-edit"}, "p.trigger/type": {`"compound"`}, "p.trigger/require": {"1"}, "p.trigger/within": {""}, "p.trigger/triggers/#": {"2"}, "p.trigger/triggers/0/type": {`"event"`},
		"p.trigger/triggers/0/posture": {`"Reactive"`}, "p.trigger/triggers/0/every_event": {"1"}, "p.trigger/triggers/1/type": {`"metric"`}, "p.trigger/triggers/1/metric/name": {`"successes"`},
		"p.trigger/triggers/1/metric/operator": {`"<"`}, "p.trigger/triggers/1/metric/threshold": {"0.9"}, "p.tags": {""},
	}
	s.edit(page, form(changes))
	got = read()
	require.Equal(t, "compound", got.Trigger["type"])
	require.Nil(t, got.Trigger["within"])
	require.Len(t, got.Trigger["triggers"], 2)
	require.Empty(t, got.Tags)
	require.Contains(t, s.page(page), `name="p.trigger/triggers/0/every_event" value="1" checked`)

	changes.Set("updated", "2020-01-01T00:00:00Z")
	require.Contains(t, s.submit(page, form(changes)), "Someone else has changed this")
	require.Contains(t, s.edit(page, form(url.Values{"action": {"automation-edit"}, "show-json": {"yes"}})), "&quot;order.placed&quot;")
	s.edit(page, url.Values{"action": {"automation-edit"}, "json": {`{"name": "renamed", "trigger": {"type": "event", "posture": "Reactive"}, "actions": []}`}})
	require.Equal(t, "renamed", read().Name)
}

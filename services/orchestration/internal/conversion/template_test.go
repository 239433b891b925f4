package conversion

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/vocabulary"
)

// recorded are the notes of a test.
type recorded struct{ alone []string }

func (*recorded) changed([]string, string, string) {}

func (r *recorded) left(_ []string, text, why string) { r.alone = append(r.alone, text+": "+why) }

func TestTemplates(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, source, want string
		action             bool
		alone              []string
	}{
		{
			name:   "labels, names and ids of an event",
			source: `{"event": "orch.flow-run.Completed", "resource": {"orch.resource.id": "orch.flow-run.{{ body.id }}", "app": "orch"}}`,
			want:   `{"event": "prefect.flow-run.Completed", "resource": {"prefect.resource.id": "prefect.flow-run.{{ body.id }}", "app": "orch"}}`,
		},
		{
			name:   "related resources, white space and comments",
			source: "{# orch.flow-run #}\n{ \"event\" : \"deployed\",\r\n \"related\": [{\"orch.resource.id\": \"orch-cloud.webhook.1\", \"orch.resource.role\": \"x\"}]}\n",
			want:   "{# orch.flow-run #}\n{ \"event\" : \"deployed\",\r\n \"related\": [{\"prefect.resource.id\": \"prefect-cloud.webhook.1\", \"prefect.resource.role\": \"x\"}]}\n",
		},
		{
			name:   "the payload of an event",
			source: `{"event": "a", "payload": {"orch.resource.id": "orch.flow-run.1"}, "resource": {"orch.resource.id": "a"}}`,
			want:   `{"event": "a", "payload": {"orch.resource.id": "orch.flow-run.1"}, "resource": {"prefect.resource.id": "a"}}`,
			alone:  []string{"orch.resource.id: " + leftInPayload, "orch.flow-run.1: " + leftInPayload},
		},
		{
			name:   "names of users",
			source: `{"event": "orchestra.x", "resource": {"orch.resource.id": "my.orch.flow-run.1", "orch.mine": "orch.mine.x"}}`,
			want:   `{"event": "orchestra.x", "resource": {"prefect.resource.id": "my.orch.flow-run.1", "orch.mine": "orch.mine.x"}}`,
		},
		{
			name:   "a name inside of a text",
			source: `{"event": "a", "resource": {"orch.resource.id": "a", "orch.resource.name": "see orch.flow-run.1"}}`,
			want:   `{"event": "a", "resource": {"prefect.resource.id": "a", "prefect.resource.name": "see orch.flow-run.1"}}`,
			alone:  []string{"orch.flow-run.1: " + leftInText},
		},
		{
			name:   "literals of expressions",
			source: `{{ {"event": "a", "resource": {'orch.resource.id': "orch.flow-run." ~ body.id}} | tojson }}`,
			want:   `{{ {"event": "a", "resource": {'prefect.resource.id': "prefect.flow-run." ~ body.id}} | tojson }}`,
		},
		{
			name:   "names that an expression builds",
			source: `{"event": "orch.{{ body.kind }}.x", "resource": {"{{ "orch" ~ ".resource.id" }}": "a"}}`,
			want:   `{"event": "orch.{{ body.kind }}.x", "resource": {"{{ "orch" ~ ".resource.id" }}": "a"}}`,
			alone:  []string{"orch.: " + leftBuilt, "orch: " + leftBuilt},
		},
		{
			name:   "a raw block is text",
			source: `{"event": "a", {% raw %}"resource": {"orch.resource.id": "{{"}{% endraw %}}`,
			want:   `{"event": "a", {% raw %}"resource": {"prefect.resource.id": "{{"}{% endraw %}}`,
		},
		{
			name:   "a template with an error",
			source: `{"orch.resource.id": "{{ "}`,
			want:   `{"orch.resource.id": "{{ "}`,
			alone:  []string{"orch.resource.id: " + leftUnread + "syntax error at line 1, column 26: unexpected char '\"' at 25"},
		},
		{
			name: "expressions of an action", action: true,
			source: `Run {{ event.resource["orch.resource.name"] }} {{ event.resource.labels.orch.resource.id }}: {% if event.event == 'orch.flow-run.Failed' %}bad{% endif %}`,
			want:   `Run {{ event.resource["prefect.resource.name"] }} {{ event.resource.labels.prefect.resource.id }}: {% if event.event == 'prefect.flow-run.Failed' %}bad{% endif %}`,
		},
		{
			name: "the text that an action sends", action: true,
			source: `{"orch.resource.id": "{{ event.id }}", "orch": 1}`,
			want:   `{"orch.resource.id": "{{ event.id }}", "orch": 1}`,
			alone:  []string{"orch.resource.id: " + leftSent},
		},
		{
			name: "other attributes of an action", action: true,
			source: `{{ payload.orch.resource }} {{ event.labels.orch.mine }} {{ labels["orch"] }}`,
			want:   `{{ payload.orch.resource }} {{ event.labels.orch.mine }} {{ labels["orch"] }}`,
			alone:  []string{"orch: " + leftBuilt},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			notes := &recorded{}
			there := rewriter{rename: (&renaming{from: vocabulary.Orch, to: vocabulary.Prefect}).rename, notes: notes}
			back := rewriter{rename: (&renaming{from: vocabulary.Prefect, to: vocabulary.Orch}).rename, notes: noNotes{}}
			edit := func(w rewriter, source string) string {
				if tc.action {
					return w.actionTemplate(source)
				}
				return w.eventTemplate(source)
			}
			got := edit(there, tc.source)
			require.Equal(t, tc.want, got)
			require.Equal(t, tc.alone, notes.alone)
			require.Equal(t, got, edit(there, got), "a repetition changes nothing")
			require.Equal(t, tc.source, edit(back, got))
		})
	}
}

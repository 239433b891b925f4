package render_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/vocabulary"
	"github.com/orch-project/orch/pkg/webhook/render"
)

func TestForeignLabels(t *testing.T) {
	t.Parallel()
	// The templates are written for a server with the vocabulary orch, and each one is tried in both.
	for name, c := range map[string]struct {
		template string
		want     []string
	}{
		"own label":         {`{"resource": {"orch.resource.id": "a"}}`, nil},
		"other label":       {`{"resource": {"prefect.resource.id": "a"}}`, []string{"1:16 prefect.resource.id orch.resource.id"}},
		"second line":       {"{\n  \"résource\": {\"prefect.resource.id\": \"a\"}}", []string{"2:17 prefect.resource.id orch.resource.id"}},
		"both":              {`{"resource": {"prefect.resource.id": "a", "orch.resource.id": "a"}}`, nil},
		"in an expression":  {`{"resource": {{ {'prefect.resource.id': body.id} | tojson }}}`, []string{"1:19 prefect.resource.id orch.resource.id"}},
		"in a comment":      {`{# prefect.resource.id #}{"resource": {"orch.resource.id": "a"}}`, nil},
		"only in a comment": {`{# prefect.resource.id #}{}`, nil},
		"in raw":            {`{% raw %}{"prefect.resource.id": 1}{% endraw %}`, []string{"1:12 prefect.resource.id orch.resource.id"}},
		"role of a related resource": {
			`{"resource": {"orch.resource.id": "a"}, "related": [{"orch.resource.id": "b", "prefect.resource.role": "c"}]}`,
			[]string{"1:80 prefect.resource.role orch.resource.role"},
		},
		"longer names":   {`{"my-prefect.resource.id": 1, "prefect.resource.identity": 2}`, nil},
		"broken":         {`{"prefect.resource.id": {{ "}`, nil},
		"names of users": {`{"event": "prefect.flow-run.Completed"}`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			swapped := strings.NewReplacer("prefect", "orch", "orch", "prefect")
			for _, v := range []vocabulary.Vocabulary{vocabulary.Orch, vocabulary.Prefect} {
				template, want := c.template, c.want
				if v == vocabulary.Prefect {
					template = swapped.Replace(template)
				}
				found := newEngine(v).ForeignLabels(template)
				require.Len(t, found, len(want))
				for i, text := range want {
					labels := strings.Fields(text)[1:]
					if v == vocabulary.Prefect {
						labels = strings.Fields(swapped.Replace(strings.Join(labels, " ")))
					}
					require.Equal(t, labels[0], found[i].Label)
					require.Equal(t, labels[1], found[i].Own)
					require.Equal(t, strings.Count(template[:strings.Index(template, labels[0])], "\n")+1, found[i].Line)
					require.Contains(t, found[i].Error(), "write "+labels[1])
					if v == vocabulary.Orch {
						require.Equal(t, strings.Fields(text)[0], position(t, found[i]))
					}
				}
			}
		})
	}
}

// position returns the position of an error.
func position(t *testing.T, err error) string {
	t.Helper()
	line, column, ok := render.Place(err)
	require.True(t, ok)
	return fmt.Sprintf("%d:%d", line, column)
}

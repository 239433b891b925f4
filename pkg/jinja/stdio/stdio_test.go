package stdio_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/jinja"
	"github.com/orch-project/orch/pkg/jinja/stdio"
)

func TestRun(t *testing.T) {
	t.Parallel()
	in := strings.Join([]string{
		`{"id":"1","template":"{{ d }} {{ n }}","context":{"d":{"z":1,"a":2.50},"n":123456789012345678901}}`,
		`{"id":"2","template":"a\n{{ 1 + }}"}`,
		``,
		`{"id":"3","template":"{{ a + 1 }}","context":{}}`,
		`{"id":"4","template":"{{ 1 / 0 }}"}`,
		`{"id":"5","template":"{{ 'x' * 10000000000 }}"}`,
		`not json`,
		`{"id":"6","template":"x","context":[1]}`,
		`{"id":"7","template":"<é>"}`,
	}, "\n")
	var out bytes.Buffer
	require.NoError(t, stdio.Run(t.Context(), strings.NewReader(in), &out, jinja.New(jinja.Options{Undefined: jinja.Chainable})))
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	require.Len(t, lines, 8)
	require.Equal(t, `{"output":"{'z': 1, 'a': 2.5} 123456789012345678901"}`, lines[0])
	require.Contains(t, lines[1], `"error":"syntax"`)
	require.Contains(t, lines[1], `"line":2`)
	require.Contains(t, lines[2], `"error":"undefined"`)
	require.Contains(t, lines[3], `"error":"runtime"`)
	require.Contains(t, lines[4], `"error":"budget"`)
	require.Contains(t, lines[5], `"error":"runtime"`)
	require.Contains(t, lines[6], `"error":"runtime"`)
	require.Equal(t, `{"output":"<é>"}`, lines[7])
}

package jinja_test

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/jinja"
)

// fence is a fenced block of a document with its first line.
type fence struct {
	lang, text string
	line       int
}

func fences(doc string) []fence {
	var out []fence
	var cur *fence
	for i, line := range strings.Split(doc, "\n") {
		switch {
		case cur == nil && strings.HasPrefix(line, "```"):
			cur = &fence{lang: strings.TrimPrefix(line, "```"), line: i + 1}
		case cur != nil && line == "```":
			cur.text = strings.TrimSuffix(cur.text, "\n")
			out = append(out, *cur)
			cur = nil
		case cur != nil:
			cur.text += line + "\n"
		}
	}
	return out
}

// TestDocumentedExamples runs the examples of docs/templates.md. After a "jinja" block with the template, a "text" block has
// the output, or an "error" block the kind of the error. A "json" block is the context of the following templates.
func TestDocumentedExamples(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("../../docs/templates.md")
	require.NoError(t, err)
	e := jinja.New(jinja.Options{Undefined: jinja.Chainable})
	var vars jinja.Vars
	var source fence
	ran := 0
	for _, f := range fences(string(data)) {
		switch f.lang {
		case "json":
			vars, err = jinja.DecodeVars([]byte(f.text))
			require.NoError(t, err)
		case "jinja":
			source = f
		case "text", "error":
			require.NotEmpty(t, source.text, "line %d: no template before", f.line)
			ran++
			var out string
			tpl, err := e.Compile(source.text)
			if err == nil {
				out, err = tpl.Render(t.Context(), vars)
			}
			if f.lang == "text" {
				require.NoError(t, err, "line %d", source.line)
				require.Equal(t, f.text, out, "line %d", source.line)
				break
			}
			var je *jinja.Error
			require.ErrorAs(t, err, &je, "line %d", source.line)
			require.Equal(t, f.text, string(je.Kind), "line %d", source.line)
		}
	}
	require.Greater(t, ran, 10)
}

package markup_test

import (
	"testing"

	"github.com/flosch/pongo2/v6"
	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/testkit"
	"github.com/orch-project/orch/services/gateway/internal/web/markup"
)

func TestMain(m *testing.M) { testkit.Main(m) }

func TestBuilderEscapes(t *testing.T) {
	t.Parallel()
	var b markup.Builder
	require.True(t, b.Markup().Empty())
	b.Raw("<a").Attr("title", `"><script>'&`).Raw(">").Text("<b>&").Raw("</a>")
	want := `<a title="&#34;&gt;&lt;script&gt;&#39;&amp;">&lt;b&gt;&amp;</a>`
	require.Equal(t, want, b.Markup().Source())
	require.Equal(t, len(want), b.Len())
	require.False(t, b.Markup().Empty())
}

// TestTemplatesEscapeWithoutHTML prints markup with and without its method HTML.
func TestTemplatesEscapeWithoutHTML(t *testing.T) {
	t.Parallel()
	template, err := pongo2.FromString("{{ m.HTML }} {{ m.Source }}")
	require.NoError(t, err)
	got, err := template.Execute(pongo2.Context{"m": markup.Trust("<b>x</b>")})
	require.NoError(t, err)
	require.Equal(t, "<b>x</b> &lt;b&gt;x&lt;/b&gt;", got)
}

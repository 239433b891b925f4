package show_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/services/gateway/internal/web/show"
)

func TestCode(t *testing.T) {
	t.Parallel()
	got := show.Code("a\n{{ <x> }}\nb\n", show.Mark{Line: 2, Column: 4, Message: "'x' is <empty>"}).Source()
	require.Equal(t, `<pre class="code"><code><span class="ln">   1</span> a
<span class="bad"><span class="ln">   2</span> {{ <mark>&lt;</mark>x&gt; }}
     &#39;x&#39; is &lt;empty&gt;</span>
<span class="ln">   3</span> b
</code></pre>`, got)

	long := show.Code(strings.Repeat("x", 1<<20)+strings.Repeat("\ny", 5000), show.Mark{Line: 4000, Column: 900, Message: "m"}).Source()
	require.Less(t, len(long), 60_000)
	require.Contains(t, long, "4000</span> y")
	require.Contains(t, long, "Only the first 1,000 of 5,001 lines")
}

func TestCodeExcerptShowsTheLinesAroundAnError(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("x\n", 100) + "last"
	for _, c := range []struct {
		name        string
		line        int64
		first, last string
		lines       int
	}{
		{"in the middle", 50, "  46</span>", "  54</span>", 9},
		{"at the start", 1, "   1</span>", "   5</span>", 5},
		{"at the end", 101, "  97</span>", " 101</span>", 5},
		{"without a line", 0, "   1</span>", " 101</span>", 101},
		{"behind the end", 102, "   1</span>", " 101</span>", 101},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got := show.CodeExcerpt(text, show.Mark{Line: c.line, Column: 200, Message: "wrong"}).Source()
			require.Equal(t, c.lines, strings.Count(got, `class="ln"`))
			require.Contains(t, got, c.first)
			require.Contains(t, got, c.last)
		})
	}
}

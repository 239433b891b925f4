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
<span class="bad"><span class="ln">   2</span> {{ &lt;x&gt; }}
        ^ &#39;x&#39; is &lt;empty&gt;</span>
<span class="ln">   3</span> b
</code></pre>`, got)

	long := show.Code(strings.Repeat("x", 1<<20)+strings.Repeat("\ny", 5000), show.Mark{Line: 4000, Column: 900, Message: "m"}).Source()
	require.Less(t, len(long), 60_000)
	require.Contains(t, long, "4000</span> y")
	require.Contains(t, long, "Only the first 1,000 of 5,001 lines")
}

package hooks

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestParsePath(t *testing.T) {
	t.Parallel()
	for path, want := range map[string][2]string{
		"/hooks/abc": {"abc", ""}, "/hooks/abc/": {"abc", "/"}, "/hooks/a%20b": {"a%20b", ""}, "/hooks/..": {"..", ""},
		"/hooks/abc//": {"abc", "//"}, "/hooks/abc/d/../é": {"abc", "/d/../é"},
		"/hooks/": {}, "/hooks//": {}, "/hooks": {}, "//hooks/abc": {}, "/hooks//abc": {}, "": {}, "/other/abc": {},
	} {
		slug, rest := parsePath(path)
		if want[0] == "" {
			require.Empty(t, slug, path)
			continue
		}
		require.Equal(t, want, [2]string{slug, rest}, path)
	}
}

package events

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/vocabulary"
)

func TestTruncateCountsCharacters(t *testing.T) {
	t.Parallel()
	require.Equal(t, "äöü", truncate("äöüß", 3))
	require.Equal(t, "ä", truncate("ä", 3))
	require.Empty(t, truncate("", 3))
}

func TestTagsAreNamedOnce(t *testing.T) {
	t.Parallel()
	var ids []string
	for _, r := range Tags(vocabulary.Orch, []string{"b", "a", "b"}, []string{"c", "a"}) {
		ids = append(ids, r.GetLabels()["orch.resource.id"])
	}
	require.Equal(t, []string{"orch.tag.a", "orch.tag.b", "orch.tag.c"}, ids)
}

package events

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/vocabulary"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/rules"
)

func TestAbridgeCountsCharacters(t *testing.T) {
	t.Parallel()
	require.Equal(t, "äö... 3 more characters ...bc", abridge("äöüßabc", 4))
	require.Equal(t, "äöüß", abridge("äöüß", 4))
	require.Empty(t, abridge("", 4))
}

// The message of a failure is often long, and its end contains the cause.
func TestEventsKeepMessagesOfStates(t *testing.T) {
	t.Parallel()
	line, flood := strings.Repeat("x", 5000), strings.Repeat("y", 3*maxStateMessage)
	for message, want := range map[string]string{line: line, flood: abridge(flood, maxStateMessage)} {
		e := Transition{Kind: "flow-run", Of: "r", Judgement: &rules.Judgement{Proposed: &orchv1.State{
			Type: orchv1.StateType_STATE_TYPE_FAILED, Message: new(message),
		}}}.Event(vocabulary.Orch)
		require.Equal(t, want, e.GetResource().GetLabels()["orch.state-message"])
		require.Contains(t, string(e.GetPayload()), want)
		require.Less(t, len(e.GetPayload()), 2*maxStateMessage)
	}
}

func TestTagsAreNamedOnce(t *testing.T) {
	t.Parallel()
	var ids []string
	for _, r := range Tags(vocabulary.Orch, []string{"b", "a", "b"}, []string{"c", "a"}) {
		ids = append(ids, r.GetLabels()["orch.resource.id"])
	}
	require.Equal(t, []string{"orch.tag.a", "orch.tag.b", "orch.tag.c"}, ids)
}

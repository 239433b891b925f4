package artifacts

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/clock"
	"github.com/orch-project/orch/pkg/testkit"
	"github.com/orch-project/orch/pkg/vocabulary"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/resourceid/requesttest"
	"github.com/orch-project/orch/services/orchestration/internal/store"
	"github.com/orch-project/orch/services/orchestration/internal/store/storetest"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// The document of a key shows what is stored, in whatever order effects are executed, and however often.
func TestFollowLooksAtWhatIsStored(t *testing.T) {
	t.Parallel()
	ws := uuid.New()
	ctx := requesttest.Incoming(t, ws)
	s := New(Deps{
		Store: storetest.Embedded(t, clock.System{}), Vocabulary: vocabulary.Orch,
	})
	create := func(key *string) *orchv1.Artifact {
		artifact, err := s.CreateArtifact(ctx, &orchv1.CreateArtifactRequest{Artifact: &orchv1.ArtifactCreate{Key: key}})
		require.NoError(t, err)
		return artifact
	}
	remove := func(artifact *orchv1.Artifact) {
		_, err := s.DeleteArtifact(ctx, &orchv1.DeleteArtifactRequest{Id: artifact.GetId()})
		require.NoError(t, err)
	}
	follow := func(effects ...store.Effect) { require.NoError(t, s.Follow(ctx, effects)) }
	latest := func() []string {
		list, err := s.ReadLatestArtifacts(ctx, &orchv1.ReadLatestArtifactsRequest{})
		require.NoError(t, err)
		ids := []string{}
		for _, shown := range list.GetArtifacts() {
			ids = append(ids, shown.GetLatestId())
		}
		return ids
	}
	key := "report"
	e := s.followed(ws, key)
	first := create(&key)
	create(nil) // One without a key is shown nowhere.
	second := create(&key)
	require.Empty(t, latest())
	follow(e, e)
	require.Equal(t, []string{second.GetId()}, latest())
	remove(second)
	follow(e)
	require.Equal(t, []string{first.GetId()}, latest())
	remove(first)
	follow(e, e)
	require.Empty(t, latest())

	require.Error(t, s.Follow(ctx, []store.Effect{{Kind: KindFollow, Body: make([]byte, 15)}}))
	require.Error(t, s.DeleteOfFlowRuns(ctx, []store.Effect{{Kind: KindDeleteOfFlowRun, Body: make([]byte, 31)}}))
}

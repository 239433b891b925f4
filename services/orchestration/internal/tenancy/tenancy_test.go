package tenancy_test

import (
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/timestamppb"
	"pgregory.net/rapid"

	"github.com/orch-project/orch/pkg/testkit"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/tenancy"
)

func TestMain(m *testing.M) { testkit.Main(m) }

func TestHandle(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"My first workspace": "my-first-workspace", "  --x-- ": "x", "ÄÖÜ": "unnamed", "": "unnamed", "a  b__c": "a-b-c", "Nº 7": "n-7",
	} {
		require.Equal(t, want, tenancy.Handle(name), name)
	}
}

// A handle derived from any name is one that the contract accepts.
func TestHandlesAreAsTheContractSays(t *testing.T) {
	t.Parallel()
	allowed := regexp.MustCompile("^[a-z0-9]+(-[a-z0-9]+)*$") // AccountCreate.handle in accounts.proto.
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.OneOf(rapid.StringN(0, 255, -1), rapid.StringOfN(rapid.SampledFrom([]rune("aZ9- ")), 90, 255, -1)).Draw(t, "name")
		handle := tenancy.Handle(name)
		require.Regexp(t, allowed, handle)
		require.LessOrEqual(t, len(handle), 100)
	})
}

// A more expensive plan includes every feature of a cheaper one; an unknown plan includes none.
func TestFeatures(t *testing.T) {
	t.Parallel()
	var before []string
	for _, plan := range []string{"hobby", "starter", "team", "pro", "enterprise"} {
		features := tenancy.Features(plan)
		require.Subset(t, features, before, plan)
		before = features
	}
	require.Contains(t, before, string(tenancy.CustomRoles))
	require.Empty(t, tenancy.Features("hobby"))
	require.Empty(t, tenancy.Features("platinum"))
}

func TestAlive(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	keys := []*orchv1.ApiKey{
		{Id: "for ever"},
		{Id: "now", Expiration: timestamppb.New(now)},
		{Id: "later", Expiration: timestamppb.New(now.Add(1))},
		{Id: "before", Expiration: timestamppb.New(now.Add(-time.Hour))},
	}
	alive := tenancy.Alive(keys, now)
	require.Len(t, alive, 2)
	require.Equal(t, "for ever", alive[0].GetId())
	require.Equal(t, "later", alive[1].GetId())
	require.Len(t, keys, 4)
	require.NotNil(t, keys[3], "what the store holds is not changed")
}

// A key that is read contains neither the key nor its digest.
func TestShowKey(t *testing.T) {
	t.Parallel()
	key := "pnu_secret"
	shown := tenancy.ShowKey(&orchv1.ApiKey{Id: "id", Name: "ci", Key: &key, Digest: "digest"})
	require.Equal(t, "ci", shown.GetName())
	require.Nil(t, shown.Key)
	require.Empty(t, shown.GetDigest())
}

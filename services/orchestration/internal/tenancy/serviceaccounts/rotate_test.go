package serviceaccounts

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/orch-project/orch/pkg/testkit"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

func TestMain(m *testing.M) { testkit.Main(m) }

func TestKeysExpireAfterTheOverlap(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	forever := time.Duration(0)
	for name, c := range map[string]struct {
		// expires is the time from now until the expiration of the old key; 0 for none.
		expires, overlap time.Duration
		// want is the same after the rotation. The key is absent if it is negative.
		want time.Duration
	}{
		"without an expiration": {forever, time.Hour, time.Hour},
		"later":                 {2 * time.Hour, time.Hour, time.Hour},
		"at its end":            {time.Hour, time.Hour, time.Hour},
		"earlier":               {time.Minute, time.Hour, time.Minute},
		"expired":               {-time.Minute, time.Hour, -1},
		"without an overlap":    {forever, 0, -1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			old := &orchv1.ApiKey{Id: "old"}
			if c.expires != forever {
				old.Expiration = timestamppb.New(now.Add(c.expires))
			}
			keys := expiring([]*orchv1.ApiKey{old}, now, c.overlap)
			if c.want < 0 {
				require.Empty(t, keys)
				return
			}
			require.Len(t, keys, 1)
			require.Equal(t, now.Add(c.want), keys[0].GetExpiration().AsTime())
		})
	}
}

// A response shows the newest key, without its digest.
func TestPresentShowsTheNewestKey(t *testing.T) {
	t.Parallel()
	presented := present(&orchv1.ServiceAccount{Keys: []*orchv1.ApiKey{{Id: "old", Digest: "a"}, {Id: "new", Digest: "b"}}})
	require.Equal(t, "new", presented.GetApiKey().GetId())
	require.Empty(t, presented.GetApiKey().GetDigest())
	require.Nil(t, present(&orchv1.ServiceAccount{}).GetApiKey())
}

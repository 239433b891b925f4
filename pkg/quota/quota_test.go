package quota_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/orch-project/orch/pkg/clock"
	"github.com/orch-project/orch/pkg/quota"
	"github.com/orch-project/orch/pkg/ratelimit"
	"github.com/orch-project/orch/pkg/rpc"
	"github.com/orch-project/orch/pkg/testkit"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

func TestMain(m *testing.M) { testkit.Main(m) }

func TestLimitOfAnAccount(t *testing.T) {
	t.Parallel()
	defaults := quota.Settings{Webhooks: 1, Automations: 2, Deployments: 3, Blocks: 4, APIKeys: 5, StoredBytes: 7, Events: quota.Events{PerSecond: 6}}
	own := &orchv1.AccountQuotas{
		Webhooks: proto.Int64(11), Automations: proto.Int64(12), Deployments: proto.Int64(13), Blocks: proto.Int64(14),
		ApiKeys: proto.Int64(15), EventsPerSecond: proto.Int64(16), StoredBytes: proto.Int64(17),
	}
	for i, name := range quota.Names() {
		t.Run(string(name), func(t *testing.T) {
			t.Parallel()
			require.Equal(t, int64(1+i), defaults.Of(nil, name), "the default of the server")
			require.Equal(t, int64(1+i), defaults.Of(&orchv1.AccountQuotas{}, name))
			require.Equal(t, int64(11+i), defaults.Of(own, name), "the account's own")
			require.Zero(t, quota.Settings{}.Of(nil, name), "no limit without settings")
			field := own.ProtoReflect().Descriptor().Fields().ByName(protoreflect.Name(name))
			require.NotNil(t, field)
			none := proto.CloneOf(own)
			none.ProtoReflect().Set(field, protoreflect.ValueOfInt64(0))
			require.Zero(t, defaults.Of(none, name), "0 of the account lifts the default")
		})
	}
}

func TestSettingsAreChecked(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		settings quota.Settings
		names    string
	}{
		"negative count":   {quota.Settings{Blocks: -1}, "ORCH_QUOTA_BLOCKS"},
		"negative keys":    {quota.Settings{APIKeys: -1}, "ORCH_QUOTA_API_KEYS"},
		"negative bytes":   {quota.Settings{StoredBytes: -1}, "ORCH_QUOTA_STORED_BYTES"},
		"negative rate":    {quota.Settings{Events: quota.Events{PerSecond: -1}}, "ORCH_QUOTA_EVENTS_PER_SECOND"},
		"rate beyond most": {quota.Settings{Events: quota.Events{PerSecond: 100_001}}, "100000"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.ErrorContains(t, c.settings.Validate(), c.names)
		})
	}
	require.NoError(t, quota.Settings{}.Validate())
}

// own are the quotas of accounts by their ids.
type own map[string]int64

func (o own) EventsPerSecond(account string) (int64, bool) {
	limit, ok := o[account]
	return limit, ok
}

func TestEventsOfAnAccountAreBounded(t *testing.T) {
	t.Parallel()
	now := clock.NewManual(time.Now())
	accounts := own{"large": 10, "free": 0}
	l := quota.NewEventLimiter(quota.Events{PerSecond: 3}, accounts, ratelimit.New(ratelimit.Options{Clock: now}), prometheus.NewRegistry())
	ctx := t.Context()
	wait := func(account string) time.Duration {
		d, err := l.Wait(ctx, account)
		require.NoError(t, err)
		return d
	}
	require.NoError(t, l.Admit(ctx, "a", 2))
	require.Zero(t, wait("a"))
	require.NoError(t, l.Admit(ctx, "b", 3), "each account for itself")
	require.NoError(t, l.Admit(ctx, "large", 10))
	for range 100 {
		require.NoError(t, l.Admit(ctx, "free", 1000))
	}

	refused := rpc.HTTPError(l.Admit(ctx, "a", 1))
	require.Equal(t, int32(http.StatusTooManyRequests), refused.GetStatus())
	require.Equal(t, "1", refused.GetHeaders()["Retry-After"])
	require.Equal(t, "The account's quota of events_per_second is 3: try again later.", refused.GetDetail())
	require.InDelta(t, time.Second/3, wait("a"), float64(time.Microsecond))
	never := rpc.HTTPError(l.Admit(ctx, "a", 4))
	require.Equal(t, int32(http.StatusUnprocessableEntity), never.GetStatus(), "it would never fit")
	require.Contains(t, never.GetDetail(), "events_per_second is 3")

	now.Advance(time.Second)
	require.NoError(t, l.Admit(ctx, "a", 3), "refused events count nowhere")
	accounts["a"] = 4
	require.Error(t, l.Admit(ctx, "a", 2), "a changed quota counts what was sent before")
	require.NoError(t, l.Admit(ctx, "a", 1))
}

func TestRefusalsNameTheQuota(t *testing.T) {
	t.Parallel()
	got := rpc.HTTPError(quota.Refused(quota.Webhooks, 7, "the account has 7."))
	require.Equal(t, int32(http.StatusForbidden), got.GetStatus())
	require.Equal(t, "The account's quota of webhooks is 7: the account has 7.", got.GetDetail())
	require.Len(t, quota.Names(), (&orchv1.AccountQuotas{}).ProtoReflect().Descriptor().Fields().Len(), fmt.Sprint(quota.Names()))
}

package accounts

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/orch-project/orch/pkg/request"
	"github.com/orch-project/orch/pkg/rpc"
	"github.com/orch-project/orch/pkg/testkit"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

func TestMain(m *testing.M) { testkit.Main(m) }

func entries(networks ...string) *orchv1.IpAllowlist {
	list := &orchv1.IpAllowlist{}
	for _, network := range networks {
		list.Entries = append(list.Entries, &orchv1.IpAllowlistEntry{IpNetwork: network, Enabled: true})
	}
	return list
}

// An allowlist that would lock its author out is rejected.
func TestKeepsCaller(t *testing.T) {
	t.Parallel()
	disabled := entries("192.0.2.0/24")
	disabled.Entries[0].Enabled = false
	for name, test := range map[string]struct {
		list     *orchv1.IpAllowlist
		enforced bool
		from     string
		refused  bool
	}{
		"not enforced":          {entries("198.51.100.1"), false, "192.0.2.7", false},
		"on it":                 {entries("198.51.100.1", "192.0.2.0/24"), true, "192.0.2.7", false},
		"not on it":             {entries("198.51.100.1"), true, "192.0.2.7", true},
		"no list":               {nil, true, "192.0.2.7", true},
		"an entry switched off": {disabled, true, "192.0.2.7", true},
		"IPv6":                  {entries("2001:db8::/32"), true, "2001:db8::1", false},
		"an unknown address":    {entries("0.0.0.0/0"), true, "", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			caller := request.Info{}
			if test.from != "" {
				caller.Peer = netip.MustParseAddr(test.from)
			}
			err := keepsCaller(&orchv1.Account{Settings: &orchv1.AccountSettings{EnforceIpAllowlist: test.enforced}, IpAllowlist: test.list}, caller)
			if test.refused {
				require.EqualValues(t, 422, rpc.HTTPError(err).GetStatus())
				return
			}
			require.NoError(t, err)
		})
	}
}

func TestEntriesThatAreRefused(t *testing.T) {
	t.Parallel()
	require.NoError(t, checkEntries(entries("192.0.2.0/24", "192.0.2.7", "2001:db8::1").GetEntries()))
	for _, networks := range [][]string{{"nowhere"}, {"192.0.2.0/33"}, {"192.0.2.7", "192.0.2.7/32"}, {""}} {
		require.Error(t, checkEntries(entries(networks...).GetEntries()), "%q", networks)
	}
	require.NoError(t, checkNetworks([]string{"192.30.252.0/22"}))
	require.Error(t, checkNetworks([]string{"192.30.252.0/22", "x"}))
}

// The hooks service is notified when a setting that it enforces changes, and of no other change.
func TestSameIngestion(t *testing.T) {
	t.Parallel()
	settings := func(s *orchv1.AccountSettings) *orchv1.Account { return &orchv1.Account{Settings: s} }
	one := settings(&orchv1.AccountSettings{WebhookAllowedIps: []string{"192.0.2.7"}, WebhookRateLimit: &orchv1.WebhookRateLimit{}})
	require.True(t, sameIngestion(settings(nil), settings(&orchv1.AccountSettings{ManagedExecution: true})))
	require.True(t, sameIngestion(one, settings(&orchv1.AccountSettings{
		WebhookAllowedIps: []string{"192.0.2.7"}, WebhookRateLimit: &orchv1.WebhookRateLimit{}, AiLogSummaries: true,
	})))
	require.False(t, sameIngestion(one, settings(nil)))
	require.False(t, sameIngestion(one, settings(&orchv1.AccountSettings{WebhookAllowedIps: []string{"192.0.2.7"}})))
	require.False(t, sameIngestion(settings(nil), &orchv1.Account{Quotas: &orchv1.AccountQuotas{EventsPerSecond: proto.Int64(5)}}))
}

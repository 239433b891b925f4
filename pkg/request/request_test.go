package request_test

import (
	"context"
	"net/netip"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/metadata"
	"pgregory.net/rapid"

	"github.com/orch-project/orch/pkg/request"
	"github.com/orch-project/orch/pkg/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// arrive converts outgoing metadata to incoming metadata.
func arrive(ctx context.Context) context.Context {
	md, _ := metadata.FromOutgoingContext(ctx)
	return metadata.NewIncomingContext(ctx, md)
}

func TestWhatIsSentArrives(t *testing.T) {
	t.Parallel()
	id := rapid.Custom(func(t *rapid.T) uuid.UUID {
		return uuid.UUID(rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "id"))
	}).Filter(func(id uuid.UUID) bool { return id != uuid.Nil })
	text := rapid.StringMatching(`[ -~]{0,40}`)
	rapid.Check(t, func(t *rapid.T) {
		info := request.Info{
			Account: id.Draw(t, "account"), Workspace: id.Draw(t, "workspace"),
			PublicURL: text.Draw(t, "public"), HooksURL: text.Draw(t, "hooks"), UserAgent: text.Draw(t, "agent"),
			APIVersion: text.Draw(t, "version"), ID: text.Draw(t, "request"), Connection: text.Draw(t, "connection"),
		}
		if rapid.Bool().Draw(t, "automated") {
			info.Automation = request.Automation{ID: id.Draw(t, "automation"), Name: rapid.String().Draw(t, "name")}
		}
		if rapid.Bool().Draw(t, "located") {
			info.Peer = netip.AddrFrom4([4]byte(rapid.SliceOfN(rapid.Byte(), 4, 4).Draw(t, "peer")))
		}
		if rapid.Bool().Draw(t, "known") {
			info.Caller = request.Caller{ID: id.Draw(t, "caller"), Actor: id.Draw(t, "actor")}
			switch rapid.IntRange(0, 2).Draw(t, "kind") {
			case 1:
				info.Caller.ServiceAccount = true
			case 2:
				info.Caller.Administrator = true
			}
		}
		got, err := request.Incoming(arrive(request.Outgoing(t.Context(), info)))
		require.NoError(t, err)
		require.Equal(t, info, got)
		require.Equal(t, info.Caller.Known(), got.Caller.Known())
	})
}

// Outgoing replaces the workspace that the context carried before.
func TestOutgoingReplacesWhatWasThere(t *testing.T) {
	t.Parallel()
	first := request.Info{Account: uuid.New(), Workspace: uuid.New(), Caller: request.Caller{ID: uuid.New(), Actor: uuid.New()}}
	second := request.Info{Account: uuid.New(), Workspace: uuid.New()}
	got, err := request.Incoming(arrive(request.Outgoing(request.Outgoing(t.Context(), first), second)))
	require.NoError(t, err)
	require.Equal(t, second, got)
	require.False(t, got.Caller.Known())
}

func TestNoAuthenticationIsAMark(t *testing.T) {
	t.Parallel()
	info := request.Info{Account: uuid.New(), Workspace: uuid.New(), Caller: request.Caller{Unauthenticated: true}}
	got, err := request.Incoming(arrive(request.Outgoing(t.Context(), info)))
	require.NoError(t, err)
	require.Equal(t, info, got)
	require.False(t, got.Caller.Known())

	info.Caller = request.Caller{}
	got, err = request.Incoming(arrive(request.Outgoing(t.Context(), info)))
	require.NoError(t, err)
	require.False(t, got.Caller.Unauthenticated, "a forgotten caller is no mark")
}

func TestCallsWithoutTheGatewaysWordsAreRefused(t *testing.T) {
	t.Parallel()
	_, err := request.Incoming(t.Context())
	require.ErrorIs(t, err, request.ErrNoWorkspace)

	whole := func() metadata.MD {
		md, _ := metadata.FromOutgoingContext(request.Outgoing(t.Context(), request.Info{
			Account: uuid.New(), Workspace: uuid.New(), Automation: request.Automation{ID: uuid.New(), Name: "nightly"},
			Caller: request.Caller{ID: uuid.New(), Actor: uuid.New()}, Peer: netip.MustParseAddr("2001:db8::1"),
		}))
		return md
	}
	for key, values := range map[string][]string{
		"orch-account":         {"", "default"},
		"orch-workspace":       {"", "default"},
		"orch-automation":      {"nightly"},
		"orch-peer":            {"everywhere"},
		"orch-automation-name": {"not base64"},
		"orch-caller": {
			"administrator", "user x y", "user " + uuid.NewString() + " y", "user x " + uuid.NewString(),
			"user " + uuid.NewString() + " " + uuid.NewString() + " administrator",
		},
	} {
		for _, value := range values {
			md := whole()
			md.Set(key, value)
			_, err := request.Incoming(metadata.NewIncomingContext(t.Context(), md))
			require.Error(t, err, "%s: %s", key, value)
		}
	}
}

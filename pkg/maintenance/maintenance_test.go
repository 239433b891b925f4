package maintenance_test

import (
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/orch-project/orch/pkg/broker"
	"github.com/orch-project/orch/pkg/embeddednats"
	"github.com/orch-project/orch/pkg/maintenance"
	"github.com/orch-project/orch/pkg/testkit"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

func TestMain(m *testing.M) { testkit.Main(m) }

func TestRead(t *testing.T) {
	t.Parallel()
	on, err := proto.Marshal(&orchv1.Maintenance{Enabled: true, Reason: "upgrade"})
	require.NoError(t, err)
	for _, c := range []struct {
		name    string
		written []byte
		on      bool
		err     string
	}{
		{name: "off before the first maintenance"},
		{name: "on", written: on, on: true},
		{name: "damaged", written: []byte("on"), err: "read the maintenance"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			conn, err := broker.Connect(t.Context(), broker.Config{InProcess: testkit.StartNATS(t, embeddednats.Options{}), Logger: slog.New(slog.DiscardHandler)})
			require.NoError(t, err)
			defer func() { require.NoError(t, conn.Close()) }()
			bucket, err := maintenance.Open(t.Context(), conn)
			require.NoError(t, err)
			if c.written != nil {
				_, err := bucket.Put(t.Context(), maintenance.Key, c.written)
				require.NoError(t, err)
			}
			state, err := maintenance.Read(t.Context(), bucket)
			require.Equal(t, c.on, state.GetEnabled())
			if c.err == "" {
				require.NoError(t, err)
			} else {
				require.ErrorContains(t, err, c.err)
			}
		})
	}
}

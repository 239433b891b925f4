package maintenance_test

import (
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/broker"
	"github.com/orch-project/orch/pkg/clock"
	"github.com/orch-project/orch/pkg/embeddednats"
	wire "github.com/orch-project/orch/pkg/maintenance"
	"github.com/orch-project/orch/pkg/testkit"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/gateway/internal/maintenance"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// A switch that starts reads the state that another one wrote. A repetition keeps the time at which the maintenance began.
func TestASwitchReadsTheStateOfOthers(t *testing.T) {
	t.Parallel()
	conn, err := broker.Connect(t.Context(), broker.Config{InProcess: testkit.StartNATS(t, embeddednats.Options{}), Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	defer func() { require.NoError(t, conn.Close()) }()
	bucket, err := wire.Open(t.Context(), conn)
	require.NoError(t, err)
	writer := maintenance.New(bucket, clock.System{})
	require.Nil(t, writer.Refusing())
	on := &orchv1.UpdateMaintenanceRequest{Maintenance: &orchv1.MaintenanceUpdate{Enabled: true, Reason: "upgrade"}}
	first, err := writer.UpdateMaintenance(t.Context(), on)
	require.NoError(t, err)
	require.NotNil(t, writer.Refusing())
	again, err := writer.UpdateMaintenance(t.Context(), on)
	require.NoError(t, err)
	require.Equal(t, first.GetSince().AsTime(), again.GetSince().AsTime())

	reader := maintenance.New(bucket, clock.System{})
	require.NoError(t, reader.Load(t.Context()))
	require.NotNil(t, reader.Refusing())
	_, err = writer.UpdateMaintenance(t.Context(), &orchv1.UpdateMaintenanceRequest{})
	require.NoError(t, err)
	require.NoError(t, reader.Load(t.Context()))
	require.Nil(t, reader.Refusing())
}

package cli

import (
	"log/slog"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/config"
	"github.com/orch-project/orch/pkg/quickstart"
	"github.com/orch-project/orch/services/standalone"
)

// TestTheBannerShowsNoKey: supervisors keep standard output as a log. The commands to try read the key from its file.
func TestTheBannerShowsNoKey(t *testing.T) {
	t.Parallel()
	cfg, err := config.LoadFrom[standalone.Config](map[string]string{
		"ORCH_DATA_DIR": filepath.Join(t.TempDir(), "it's data"), "ORCH_GATEWAY_LISTEN": "127.0.0.1:0", "ORCH_INTERNAL_LISTEN": "none", "ORCH_AUTH": "keys",
	})
	require.NoError(t, err)
	s, err := standalone.New(t.Context(), cfg, "test", slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close(t.Context())) }()
	var banner strings.Builder
	greet(&banner, s, "1.2.3")
	require.NotEmpty(t, s.OwnerKey())
	require.NotContains(t, banner.String(), s.OwnerKey())
	require.Contains(t, banner.String(), "owner key  "+s.OwnerKeyFile()+"\n")
	require.Contains(t, banner.String(), `"$(cat `+quickstart.Quote(s.OwnerKeyFile())+`)"`)
}

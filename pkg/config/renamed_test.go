package config

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestFormerNamesAreRefused(t *testing.T) {
	t.Parallel()
	renamed := map[string]string{"ORCH_OLD": "ORCH_NEW", "ORCH_OTHER": "ORCH_NEWER"}
	require.NoError(t, checkRenamed(map[string]string{"ORCH_NEW": "1"}, renamed))
	err := checkRenamed(map[string]string{"ORCH_OLD": "1", "ORCH_OTHER_FILE": "/x", "ORCH_NEW": "2"}, renamed)
	require.ErrorIs(t, err, ErrInvalid)
	require.ErrorContains(t, err, "ORCH_OLD was renamed: set ORCH_NEW instead")
	require.ErrorContains(t, err, "ORCH_OTHER_FILE was renamed: set ORCH_NEWER_FILE instead")
}

// TestRenamedSettingsLeadToSettings: each former name leads to a setting, and is none itself.
func TestRenamedSettingsLeadToSettings(t *testing.T) {
	t.Parallel()
	names := strings.Fields(settingNames)
	for former, current := range renamedSettings {
		require.NotContains(t, names, former)
		require.Contains(t, names, current)
	}
}

package authn_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/services/gateway/internal/authn"
)

func TestParseMode(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		setting  string
		password bool
		want     authn.Mode
		refused  bool
	}{
		{setting: "", want: authn.None},
		{setting: "", password: true, want: authn.Basic},
		{setting: "none", want: authn.None},
		{setting: "basic", password: true, want: authn.Basic},
		{setting: "keys", want: authn.ByKey},
		// A password that nobody asks for is a mistake that leaves a server open, or its users outside.
		{setting: "none", password: true, refused: true},
		{setting: "keys", password: true, refused: true},
		{setting: "basic", refused: true},
		{setting: "Keys", refused: true},
		{setting: "token", refused: true},
	} {
		t.Run(c.setting, func(t *testing.T) {
			got, err := authn.ParseMode(c.setting, c.password)
			if c.refused {
				require.ErrorIs(t, err, authn.ErrMode, "%+v", c)
				return
			}
			require.NoError(t, err, "%+v", c)
			require.Equal(t, c.want, got, "%+v", c)
		})
	}
}

func TestExposure(t *testing.T) {
	t.Parallel()
	for _, listen := range []string{"127.0.0.1:4200", "127.8.0.1:0", "localhost:4200", "[::1]:4200", "[::ffff:127.0.0.1]:1"} {
		require.NoError(t, authn.CheckExposure(listen), listen)
	}
	for _, listen := range []string{":4200", "0.0.0.0:4200", "[::]:4200", "192.168.0.7:4200", "orch.example.com:4200", "localhost.example.com:1"} {
		require.ErrorIs(t, authn.CheckExposure(listen), authn.ErrExposed, listen)
	}
	require.Error(t, authn.CheckExposure("127.0.0.1"))
	require.Error(t, authn.CheckExposure(""))
}

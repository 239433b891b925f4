package gateway_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/services/gateway"
)

func TestDashboardURL(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		cfg  gateway.Config
		want string
	}{
		{gateway.Config{PublicURL: "https://orch.example.com/", Listen: "127.0.0.1:4200"}, "https://orch.example.com"},
		{gateway.Config{Listen: "127.0.0.1:4200"}, "http://127.0.0.1:4200"},
		{gateway.Config{Listen: "orch.internal:80"}, "http://orch.internal:80"},
		{gateway.Config{Listen: "0.0.0.0:4200"}, "http://127.0.0.1:4200"},
		{gateway.Config{Listen: "[::]:4200"}, "http://127.0.0.1:4200"},
		{gateway.Config{Listen: ":4200"}, "http://127.0.0.1:4200"},
		{gateway.Config{Listen: "[::1]:4200"}, "http://[::1]:4200"},
		{gateway.Config{Listen: "0.0.0.0:4200", Published: "127.0.0.1:8080"}, "http://127.0.0.1:8080"},
		{gateway.Config{Listen: "127.0.0.1:0"}, ""},
		{gateway.Config{}, ""},
	} {
		t.Run(test.want, func(t *testing.T) {
			require.Equal(t, test.want, test.cfg.DashboardURL(), "%+v", test.cfg.Listen)
		})
	}
}

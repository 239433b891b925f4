package action

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestABlockMayForbidPrivateAddresses(t *testing.T) {
	t.Parallel()
	for setting, public := range map[any]bool{nil: false, true: false, false: true, "no": false} {
		b := &block{data: map[string]any{"allow_private_urls": setting}}
		require.Equal(t, public, b.refusesPrivate())
	}
}

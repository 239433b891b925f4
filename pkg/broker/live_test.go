package broker

import (
	"context"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/embeddednats"
	"github.com/orch-project/orch/pkg/testkit"
)

func TestASubscriptionToALiveFeedThatEndsWhileItBeginsIsNoFailure(t *testing.T) {
	t.Parallel()
	c := connectTo(t, Config{InProcess: testkit.StartNATS(t, embeddednats.Options{})})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.NoError(t, c.Live("lines").Subscribe(ctx, func(uuid.UUID, []byte) {}))
}

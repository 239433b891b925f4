package engine

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

// The clock steps back, and another replica takes the lease. By that clock the term would go on for an hour.
func TestATermEndsWhenAnotherReplicaHasTheLease(t *testing.T) {
	t.Parallel()
	c := newCrowd(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	held, err := c.takeLease(ctx, time.Now().Add(time.Minute))
	require.NoError(t, err)
	require.True(t, held)
	c.clock.Advance(-time.Hour)
	_, held, err = c.Store.TakeLease(ctx, leaseName, uuid.New(), c.now().Add(leaseTerm))
	require.NoError(t, err)
	require.True(t, held)
	c.renew(ctx, time.Now().Add(time.Hour))
	require.NoError(t, ctx.Err())
}

// A lease that was not renewed before its end belongs to nobody, whatever the clock of the server says.
func TestATermEndsWithItsLease(t *testing.T) {
	t.Parallel()
	c := newCrowd(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	c.clock.Advance(-time.Hour)
	c.renew(ctx, time.Now()) // Each attempt to renew it is too late.
	require.NoError(t, ctx.Err())
}

package mongoerr

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestIs(t *testing.T) {
	t.Parallel()
	err := New(BadValue, "no %s", "such thing")
	require.EqualError(t, err, "BadValue (2): no such thing")
	require.True(t, Is(err, BadValue))
	require.True(t, Is(fmt.Errorf("reading: %w", err), BadValue), "wrapped")
	require.False(t, Is(err, TypeMismatch))
	require.False(t, Is(errors.New("BadValue (2)"), BadValue))
	require.False(t, Is(nil, BadValue))
	require.True(t, Is(NotImplemented("query operator %s", "$where"), NotImplementedKind))
	require.ErrorContains(t, NotImplemented("query operator %s", "$where"), "query operator $where is not implemented")
}

package broker

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
)

// A consumer that acknowledged an event before writes its dead letter itself: once for each delivery.
func TestDeadLetterEventWritesOncePerDelivery(t *testing.T) {
	t.Parallel()
	c := connectInProcess(t)
	e := testEvent()
	for _, delivery := range []uint64{7, 7, 8} {
		require.NoError(t, c.DeadLetterEvent(t.Context(), DurableAutomations, &e, delivery, errors.New("it is refused")))
	}
	letters, err := c.DeadLetters(t.Context(), DurableAutomations, 0, 10)
	require.NoError(t, err)
	require.Len(t, letters, 2)
	for _, letter := range letters {
		require.Equal(t, e.ID, letter.Event.ID)
		require.Equal(t, "it is refused", letter.Reason)
	}
}

package cli

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/webhook/deliverylog"
)

func openJournal(t *testing.T, since time.Duration, now time.Time) *listenJournal {
	t.Helper()
	j, err := openListenJournal("server desk", since, now)
	require.NoError(t, err)
	return j
}

// A journal that a killed command left is continued; that of an interrupted one is deleted.
func TestListenJournalsContinue(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	t.Setenv("HOME", t.TempDir())
	now := time.Now()
	j := openJournal(t, 0, now)
	require.Nil(t, j.resume(), "the server knows its time")
	require.NoError(t, j.started(now))
	require.Equal(t, now.UnixNano(), j.resume().UnixNano())
	require.NoError(t, j.done("a", now.Add(-time.Second)))
	require.NoError(t, j.file.Close()) // The process was killed.

	j = openJournal(t, 0, now)
	require.Equal(t, now.UnixNano(), j.resume().UnixNano(), "not before the beginning")
	require.True(t, j.has("a"))
	require.False(t, j.has("b"))
	require.NoError(t, j.started(now.Add(time.Hour)))
	require.Equal(t, now.UnixNano(), j.resume().UnixNano(), "the beginning is that of the first command")
	_, err := j.file.WriteString("2026-11-29T10:00:00Z c\nbroken li")
	require.NoError(t, err)
	require.NoError(t, j.file.Close())
	j = openJournal(t, 0, now)
	require.True(t, j.has("a"), "a line may be broken")
	require.NoError(t, j.file.Close())
	j = openJournal(t, time.Hour, now)
	require.Equal(t, now.Add(-time.Hour).UnixNano(), j.resume().UnixNano(), "anew on request")
	require.False(t, j.has("a"))
	require.NoError(t, j.close(true))
	require.Nil(t, openJournal(t, 0, now).resume(), "interrupted")
}

func TestListenJournalsOfYesterdayAreForgotten(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	t.Setenv("HOME", t.TempDir())
	now := time.Now()
	j := openJournal(t, time.Minute, now)
	require.NoError(t, j.done("a", now))
	require.NoError(t, j.file.Close())
	require.NoError(t, os.Chtimes(j.path, now, now.Add(-deliverylog.ListenerTimeout)))
	j = openJournal(t, 0, now)
	require.Nil(t, j.resume())
	require.False(t, j.has("a"))
	require.NoError(t, j.close(true))
}

func TestListenJournalsStaySmall(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	t.Setenv("HOME", t.TempDir())
	begin := time.Now().Add(-time.Hour)
	j := openJournal(t, time.Hour, time.Now())
	for i := range 3 * maxListenLines {
		require.NoError(t, j.done(fmt.Sprint(i), begin.Add(time.Duration(i)*100*time.Millisecond)))
	}
	text, err := os.ReadFile(j.path)
	require.NoError(t, err)
	require.LessOrEqual(t, strings.Count(string(text), "\n"), maxListenLines+int(deliverylog.MaxDelay/(100*time.Millisecond))+2)
	require.True(t, j.has(fmt.Sprint(3*maxListenLines-1)))
	require.NoError(t, j.close(true))
}

package action

import (
	"net/mail"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

func TestParseMailer(t *testing.T) {
	t.Parallel()
	for server, address := range map[string]string{
		"smtp://mail.example.com":                     "mail.example.com:587",
		"smtps://mail.example.com":                    "mail.example.com:465",
		"smtp://user:pass%2Fword@mail.example.com:25": "mail.example.com:25",
	} {
		m, err := ParseMailer(server, "Orch <orch@example.com>")
		require.NoError(t, err, server)
		require.Equal(t, address, m.address)
		require.Equal(t, strings.Contains(server, "@"), m.auth != nil)
	}
	m, err := ParseMailer("", "")
	require.NoError(t, err)
	require.Nil(t, m.from)
	for server, from := range map[string]string{
		"mail.example.com": "orch@example.com", "http://mail.example.com": "orch@example.com", "smtp://": "orch@example.com", "smtp://a": "nobody",
		"smtp://user:secret@a b": "orch@example.com",
	} {
		_, err := ParseMailer(server, from)
		require.Error(t, err, server)
		require.NotContains(t, err.Error(), "secret")
	}
}

// A subject cannot add header lines, and the message reads as it was written.
func TestComposedMailsAreValid(t *testing.T) {
	t.Parallel()
	m, err := ParseMailer("smtp://mail.example.com", "Orch <orch@example.com>")
	require.NoError(t, err)
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	text := m.compose([]string{"a@example.com", "b@example.com"}, "Größe\r\nBcc: c@example.com", "line\n.\nend", "id", at)
	read, err := mail.ReadMessage(strings.NewReader(string(text)))
	require.NoError(t, err)
	require.Empty(t, read.Header.Get("Bcc"))
	require.Equal(t, "a@example.com, b@example.com", read.Header.Get("To"))
	require.Equal(t, "<id@example.com>", read.Header.Get("Message-ID"))
	date, err := read.Header.Date()
	require.NoError(t, err)
	require.True(t, date.Equal(at))
}

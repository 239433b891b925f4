package action

import (
	"fmt"
	"mime"
	"net/mail"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

func TestParseMailer(t *testing.T) {
	t.Parallel()
	for server, address := range map[string]string{
		"smtp://mail.example.com":                     "mail.example.com:587",
		"smtps://mail.example.com":                    "mail.example.com:465",
		"smtp+starttls://mail.example.com":            "mail.example.com:587",
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
	require.Equal(t, "<a@example.com>, <b@example.com>", read.Header.Get("To"))
	require.Equal(t, "<id@example.com>", read.Header.Get("Message-ID"))
	date, err := read.Header.Date()
	require.NoError(t, err)
	require.True(t, date.Equal(at))
}

// Many recipients and a long subject stay within the length that servers accept, and read as they were given.
func TestLongHeadersOfMailsAreFolded(t *testing.T) {
	t.Parallel()
	m, err := ParseMailer("smtp://mail.example.com", "Orch <orch@example.com>")
	require.NoError(t, err)
	to := []string{"a, b@example.com", "größe@example.com"}
	for i := range 300 {
		to = append(to, fmt.Sprintf("recipient-%d@example.com", i))
	}
	for _, subject := range []string{strings.Repeat("Größe ", 400), strings.Repeat("word ", 400), strings.Repeat("x", 5000)} {
		text := string(m.compose(to, subject, "body", "id", time.Now()))
		for line := range strings.SplitSeq(text, "\r\n") {
			require.LessOrEqual(t, len(line), 998)
		}
		read, err := mail.ReadMessage(strings.NewReader(text))
		require.NoError(t, err)
		addresses, err := read.Header.AddressList("To")
		require.NoError(t, err)
		require.Len(t, addresses, len(to))
		require.Equal(t, "a, b@example.com", addresses[0].Address)
		decoded, err := (&mime.WordDecoder{}).DecodeHeader(read.Header.Get("Subject"))
		require.NoError(t, err)
		require.True(t, strings.HasPrefix(strings.TrimSpace(subject), strings.TrimSpace(decoded)), decoded)
		require.GreaterOrEqual(t, utf8.RuneCountInString(decoded), subjectLimit-1)
	}
}

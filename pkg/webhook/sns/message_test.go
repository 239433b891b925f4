package sns_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/safedial"
	"github.com/orch-project/orch/pkg/webhook/sns"
	"github.com/orch-project/orch/pkg/webhook/sns/snstest"
)

const topic = "arn:aws:sns:eu-central-1:000000000001:orders"

func client(t *testing.T, p *snstest.Provider) *sns.Client {
	t.Helper()
	loopback, err := safedial.ParsePolicy("127.0.0.1")
	require.NoError(t, err)
	return sns.NewClient(sns.Options{Hosts: []string{p.Host()}, Policy: loopback, Roots: p.Roots()})
}

// verify does what a receiver does with a body.
func verify(ctx context.Context, c *sns.Client, body string) error {
	m, err := sns.Parse(body)
	if err != nil {
		return err
	}
	certificate, err := c.Certificate(ctx, m.SigningCertificate)
	if err != nil {
		return err
	}
	return m.Verify(certificate, time.Now())
}

// TestContentIsTheDocumentedText: names and values by line, in alphabetical order; a Subject only if the message has one.
func TestContentIsTheDocumentedText(t *testing.T) {
	t.Parallel()
	p := snstest.New(t)
	m, err := sns.Parse(p.Notification(topic, "id", "text\n"))
	require.NoError(t, err)
	require.Equal(t, "Message\ntext\n\nMessageId\nid\nSubject\nsubject\nTimestamp\n2026-03-02T09:14:07.318Z\nTopicArn\n"+topic+"\nType\nNotification\n", m.Content())
	for _, without := range []func(map[string]any){
		func(fields map[string]any) { delete(fields, "Subject") },
		func(fields map[string]any) { fields["Subject"] = nil },
	} {
		m, err = sns.Parse(p.Notification(topic, "id", "text", without))
		require.NoError(t, err)
		require.NotContains(t, m.Content(), "Subject")
	}
	m, err = sns.Parse(p.Confirmation(topic, "token"))
	require.NoError(t, err)
	require.True(t, strings.HasPrefix(m.Content(), "Message\nYou have chosen to subscribe.\nMessageId\nconfirmation-token\nSubscribeURL\nhttps://"))
	require.True(t, strings.HasSuffix(m.Content(), "\nToken\ntoken\nTopicArn\n"+topic+"\nType\nSubscriptionConfirmation\n"))
}

// TestSignedMessages of both versions are valid; each change of a signed field is not.
func TestSignedMessages(t *testing.T) {
	t.Parallel()
	p := snstest.New(t)
	c := client(t, p)
	version1 := func(fields map[string]any) { fields["SignatureVersion"] = "1" }
	good := p.Notification(topic, "id-1", "hello")
	for _, body := range []string{good, p.Notification(topic, "id-1", "hello", version1), p.Confirmation(topic, "t"), p.Confirmation(topic, "t", version1)} {
		require.NoError(t, verify(t.Context(), c, body))
	}
	for from, to := range map[string]string{
		`"hello"`: `"Hello"`, `"id-1"`: `"id-2"`, ":orders": ":others", "09:14": "09:15", `"subject"`: `"Subject"`,
		`"SignatureVersion":"2"`: `"SignatureVersion":"1"`, `"Subject":"subject",`: "",
	} {
		changed := strings.Replace(good, from, to, 1)
		require.NotEqual(t, good, changed)
		require.ErrorIs(t, verify(t.Context(), c, changed), sns.ErrSignature, from)
	}
	other := snstest.New(t)
	foreign := other.Notification(topic, "id-1", "hello", func(fields map[string]any) { fields["SigningCertURL"] = p.CertificateURL() })
	require.ErrorIs(t, verify(t.Context(), c, foreign), sns.ErrSignature, "another key")
	require.Equal(t, 1, p.Fetched(), "the certificate is cached")
}

// TestTheSignatureCoversWhatTemplatesSee: templates take the last of duplicate keys, and names in their exact case.
func TestTheSignatureCoversWhatTemplatesSee(t *testing.T) {
	t.Parallel()
	p := snstest.New(t)
	c := client(t, p)
	good := p.Notification(topic, "id-1", "hello")
	forged := strings.TrimSuffix(good, "}") + `,"Message":"forged"}`
	require.ErrorIs(t, verify(t.Context(), c, forged), sns.ErrSignature)
	m, err := sns.Parse(strings.TrimSuffix(good, "}") + `,"message":"forged","subscribeurl":"https://x.example"}`)
	require.NoError(t, err)
	require.Equal(t, "hello", m.Message)
	require.Empty(t, m.SubscribeURL)
	for _, body := range []string{"", "[]", "1", "{", `{"Type":"Notification"}`, strings.Replace(good, `"hello"`, `{"a":1}`, 1), strings.Replace(good, `"Notification"`, `"Other"`, 1)} {
		require.ErrorIs(t, verify(t.Context(), c, body), sns.ErrFormat, body)
	}
}

func TestCertificatesExpire(t *testing.T) {
	t.Parallel()
	p := snstest.New(t)
	p.Certify(time.Now().Add(-2*time.Hour), time.Now().Add(-time.Hour))
	require.ErrorContains(t, verify(t.Context(), client(t, p), p.Notification(topic, "id", "text")), "certificate is valid from")
}

func FuzzParse(f *testing.F) {
	f.Add(`{"Type":"Notification","MessageId":"a","TopicArn":"b","Timestamp":"c","Message":"d","SignatureVersion":"2","Signature":"e","SigningCertURL":"f"}`)
	f.Add(`{"Type":"SubscriptionConfirmation"}`)
	f.Fuzz(func(t *testing.T, body string) {
		if m, err := sns.Parse(body); err == nil {
			require.NotEmpty(t, m.Content())
		}
	})
}

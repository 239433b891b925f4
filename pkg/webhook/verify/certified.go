package verify

import (
	"context"
	"crypto/sha256"
	"crypto/x509"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/orch-project/orch/pkg/webhook/receive"
	"github.com/orch-project/orch/pkg/webhook/sns"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// ErrUnavailable is wrapped when a request cannot be verified now, because the provider's certificate is unavailable.
var ErrUnavailable = errors.New("verify request")

// Certificates returns the certificates that providers sign with. Errors wrap sns.ErrForeign or sns.ErrUnavailable.
type Certificates interface {
	Certificate(ctx context.Context, address string) (*x509.Certificate, error)
}

// HasSecrets reports whether requests of a scheme are verified with secrets of the webhook.
func HasSecrets(scheme orchv1.WebhookScheme) bool {
	return scheme != orchv1.WebhookScheme_WEBHOOK_SCHEME_SNS
}

// certified verifies a message of Amazon SNS. It compares the topic, which is signed, before it fetches a certificate.
// The message's timestamp may be old, because SNS retries for hours: duplicates are recognised by the signed message id.
func (v *Verifier) certified(ctx context.Context, r *receive.Request, now time.Time) (Proof, error) {
	m, err := sns.Parse(r.Body().Text)
	if err != nil {
		return Proof{}, fmt.Errorf("%w: %w", ErrUnproven, err)
	}
	if !accepts(v.config.GetTopicArns(), m.TopicARN) {
		return Proof{}, fmt.Errorf("%w: neither its TopicArn nor the account in it is in topic_arns", ErrUnproven)
	}
	certificate, err := v.certificates.Certificate(ctx, m.SigningCertificate)
	if errors.Is(err, sns.ErrForeign) {
		return Proof{}, fmt.Errorf("%w: %w", ErrUnproven, err)
	}
	if err != nil {
		return Proof{}, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	if err := m.Verify(certificate, now); err != nil {
		return Proof{}, fmt.Errorf("%w: %w", ErrUnproven, err)
	}
	proof := Proof{ID: m.MessageID, SignedID: true, Content: sha256.Sum256([]byte(m.Content()))}
	if m.Type == sns.TypeSubscription {
		proof.ConfirmURL = m.SubscribeURL
	}
	return proof, nil
}

// notRaw refuses messages that SNS delivers without signing them.
func notRaw(r *receive.Request) error {
	if strings.EqualFold(r.Get("x-amz-sns-rawdelivery"), "true") {
		return fmt.Errorf("%w: raw message delivery is not signed: disable it for the subscription", ErrUnproven)
	}
	return nil
}

// account is the form of an account's id, in place of the ARNs of all its topics.
var account = regexp.MustCompile(`^[0-9]{12}$`)

// accepts reports whether a topic, or its account, is listed. SNS signs the messages of every customer, so without a list nothing
// is proven.
func accepts(listed []string, topic string) bool {
	parts := strings.Split(topic, ":") // arn:aws:sns:REGION:ACCOUNT:NAME
	return slices.ContainsFunc(listed, func(one string) bool {
		return one == topic || account.MatchString(one) && len(parts) == 6 && parts[2] == "sns" && parts[4] == one
	})
}

package verify

import (
	"crypto/ecdsa"
	"crypto/sha256"
	"crypto/x509"
	"fmt"
	"strings"

	"github.com/orch-project/orch/pkg/webhook/receive"
)

const (
	sendgridSignature = "X-Twilio-Email-Event-Webhook-Signature"
	sendgridTimestamp = "X-Twilio-Email-Event-Webhook-Timestamp"
)

// sendgrid completes the scheme of SendGrid: an ECDSA signature, in ASN.1, of the time and the body.
func sendgrid(s scheme) scheme {
	read := header(sendgridSignature, "")
	s.timed, s.publicKey, s.encoding, s.key = true, true, inBase64, publicKey
	s.secretForm = "the secret of sendgrid is the verification key, a public key in base64"
	s.claim = func(r *receive.Request) (claim, error) {
		c, err := read(r)
		if err != nil {
			return c, err
		}
		if c.timestamp = strings.TrimSpace(r.Get(strings.ToLower(sendgridTimestamp))); c.timestamp == "" {
			return c, missing(sendgridTimestamp)
		}
		return c, nil
	}
	s.content = func(c claim) (string, string) { return c.timestamp, "" }
	s.fields = proof(sendgridSignature+": {signature}", sendgridTimestamp+": {timestamp}")
	return s
}

// publicKey returns the DER form of an ECDSA key, of its text in base64.
func publicKey(text string) ([]byte, error) {
	der, err := anyBase64(strings.TrimSpace(text))
	if err != nil {
		return nil, fmt.Errorf("%w: decode public key: %w", ErrInvalid, err)
	}
	if _, err := parsePublicKey(der); err != nil {
		return nil, err
	}
	return der, nil
}

func parsePublicKey(der []byte) (*ecdsa.PublicKey, error) {
	key, err := x509.ParsePKIXPublicKey(der)
	if err != nil {
		return nil, fmt.Errorf("%w: parse public key: %w", ErrInvalid, err)
	}
	public, ok := key.(*ecdsa.PublicKey)
	if !ok {
		return nil, fmt.Errorf("%w: the public key is none of ECDSA", ErrInvalid)
	}
	return public, nil
}

// verifyECDSA returns the check of signatures of a text.
func verifyECDSA(der []byte, text signedText) func(signature []byte) bool {
	key, err := parsePublicKey(der)
	if err != nil {
		return func([]byte) bool { return false } // New has parsed it.
	}
	digest := sha256.New()
	text.writeTo(digest)
	sum := digest.Sum(nil)
	return func(signature []byte) bool { return ecdsa.VerifyASN1(key, sum, signature) }
}

package sns

import (
	"crypto"
	"crypto/rsa"
	"crypto/sha1" //nolint:gosec // SignatureVersion 1 uses it; a topic selects version 2.
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"time"
)

// ErrSignature is wrapped when a message is not what SNS signed.
var ErrSignature = errors.New("invalid signature of Amazon SNS")

// minKeyBits is the minimum length of a signing key.
const minKeyBits = 2048

// Verify checks the signature of a message with the certificate of its SigningCertURL. The error wraps ErrSignature.
func (m Message) Verify(certificate *x509.Certificate, now time.Time) error {
	if now.Before(certificate.NotBefore) || now.After(certificate.NotAfter) {
		return fmt.Errorf("%w: its certificate is valid from %s to %s", ErrSignature,
			certificate.NotBefore.Format(time.RFC3339), certificate.NotAfter.Format(time.RFC3339))
	}
	key, ok := certificate.PublicKey.(*rsa.PublicKey)
	if !ok || key.N.BitLen() < minKeyBits {
		return fmt.Errorf("%w: its certificate has no RSA key of at least %d bits", ErrSignature, minKeyBits)
	}
	signature, err := base64.StdEncoding.DecodeString(m.Signature)
	if err != nil {
		return fmt.Errorf("%w: it is not base64", ErrSignature)
	}
	var hash crypto.Hash
	var digest []byte
	switch m.SignatureVersion {
	case "1":
		sum := sha1.Sum([]byte(m.Content())) //nolint:gosec // See the import.
		hash, digest = crypto.SHA1, sum[:]
	case "2":
		sum := sha256.Sum256([]byte(m.Content()))
		hash, digest = crypto.SHA256, sum[:]
	default:
		return fmt.Errorf("%w: SignatureVersion is neither 1 nor 2", ErrSignature)
	}
	if rsa.VerifyPKCS1v15(key, hash, digest, signature) != nil {
		return fmt.Errorf("%w: %d bytes with SignatureVersion %s do not match the key of the certificate", ErrSignature, len(signature), m.SignatureVersion)
	}
	return nil
}

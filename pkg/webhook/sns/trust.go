package sns

import (
	"context"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"
)

// maxIssuers bounds the certificates between a signing certificate and a root that are fetched.
const maxIssuers = 3

// issuerDomain is the domain of the authorities that issue the signing certificates of SNS.
const issuerDomain = ".amazontrust.com"

// trust decides whether a certificate of a host of SNS may sign messages.
type trust struct {
	// roots are the public certificate authorities; nil means the system's.
	roots *x509.CertPool
	// fetch returns the issuer's certificate at an address, for files that lack it.
	fetch func(ctx context.Context, address string) ([]byte, error)
}

// check refuses a certificate that is not for SNS, or does not chain to a root; the error wraps ErrForeign. The certificates beside
// it may be anybody's: they count only as a part of the chain.
func (t trust) check(ctx context.Context, name string, signing *x509.Certificate, beside []*x509.Certificate, now time.Time) error {
	if !slices.ContainsFunc(signingNames(name), func(n string) bool { return signing.VerifyHostname(n) == nil }) {
		return fmt.Errorf("%w: its certificate is not for sns.amazonaws.com", ErrForeign)
	}
	options := x509.VerifyOptions{
		Roots: t.roots, Intermediates: x509.NewCertPool(), CurrentTime: now, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny},
	}
	for _, c := range beside {
		options.Intermediates.AddCert(c)
	}
	last := signing
	for issuers := 0; ; issuers++ {
		_, err := signing.Verify(options)
		if err == nil {
			return nil
		}
		if _, unknown := errors.AsType[x509.UnknownAuthorityError](err); !unknown || issuers == maxIssuers {
			return fmt.Errorf("%w: its certificate is not trusted: %w", ErrForeign, err)
		}
		issuer, missing := t.issuer(ctx, last)
		if missing != nil {
			return missing
		}
		if issuer == nil {
			return fmt.Errorf("%w: its certificate is not trusted: %w", ErrForeign, err)
		}
		options.Intermediates.AddCert(issuer)
		last = issuer
	}
}

// issuer fetches the certificate that issued another one; nil if that does not name it at an address of the authorities.
func (t trust) issuer(ctx context.Context, cert *x509.Certificate) (*x509.Certificate, error) {
	for _, address := range cert.IssuingCertificateURL {
		u, err := url.Parse(address)
		if err != nil || u.User != nil || u.Port() != "" || u.Scheme != "http" && u.Scheme != "https" || !strings.HasSuffix(strings.ToLower(u.Host), issuerDomain) {
			continue
		}
		text, err := t.fetch(ctx, u.String())
		if err != nil {
			return nil, fmt.Errorf("fetch issuer of signing certificate: %w", err)
		}
		if block, _ := pem.Decode(text); block != nil {
			text = block.Bytes
		}
		issuer, err := x509.ParseCertificate(text)
		if err != nil {
			return nil, fmt.Errorf("fetch issuer of signing certificate: %w: %w", ErrUnavailable, err)
		}
		return issuer, nil
	}
	return nil, nil
}

// signingNames are the names that a signing certificate of a host of SNS may have. Some regions have names of their own.
func signingNames(name string) []string {
	region, domain := host.FindStringSubmatch(name)[1], strings.TrimPrefix(name, "sns.")
	_, domain, _ = strings.Cut(domain, ".")
	return []string{"sns.amazonaws.com", name, "sns-" + region + "." + domain, "sns-signing." + region + "." + domain}
}

// parseCertificates returns the certificates of a PEM file in their order.
func parseCertificates(text []byte) ([]*x509.Certificate, error) {
	var found []*x509.Certificate
	for {
		block, rest := pem.Decode(text)
		if block == nil {
			break
		}
		if text = rest; block.Type != "CERTIFICATE" {
			continue
		}
		certificate, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrUnavailable, err)
		}
		found = append(found, certificate)
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("%w: the response is not a PEM certificate", ErrUnavailable)
	}
	return found, nil
}

package sns

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestABucketIsNoHostOfSNS: the S3 bucket with the name sns belongs to a stranger.
func TestABucketIsNoHostOfSNS(t *testing.T) {
	t.Parallel()
	for _, name := range []string{
		"sns.eu-central-1.amazonaws.com", "sns.us-gov-west-1.amazonaws.com", "sns.cn-north-1.amazonaws.com.cn", "sns.ap-southeast-7.amazonaws.com",
		"sns.us-isob-east-1.amazonaws.com", "SNS.us-east-1.amazonaws.com",
	} {
		_, err := check("https://"+name+"/SimpleNotificationService-1.pem", nil)
		require.NoError(t, err, name)
	}
	for _, name := range []string{
		"sns.s3-us-west-2.amazonaws.com", "sns.s3-accelerate.amazonaws.com", "sns.s3-website-us-east-1.amazonaws.com", "sns.s3-external-1.amazonaws.com",
		"sns.s3.amazonaws.com", "sns.s3.us-east-1.amazonaws.com", "sns.execute-api.us-east-1.amazonaws.com", "sns.us-east-1.amazonaws.com.evil.example",
		"sns.us-east-1.elb.amazonaws.com",
	} {
		_, err := check("https://"+name+"/SimpleNotificationService-1.pem", nil)
		require.ErrorIs(t, err, ErrForeign, name)
	}
}

// authority issues certificates.
type authority struct {
	certificate *x509.Certificate
	key         *rsa.PrivateKey
}

// issue makes a certificate. Without an issuer it signs itself.
func issue(t *testing.T, by *authority, template x509.Certificate) authority {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	require.NoError(t, err)
	template.SerialNumber, template.BasicConstraintsValid = big.NewInt(time.Now().UnixNano()), true
	template.NotBefore, template.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	parent, signer := &template, key
	if by != nil {
		parent, signer = by.certificate, by.key
	}
	der, err := x509.CreateCertificate(rand.Reader, &template, parent, key.Public(), signer)
	require.NoError(t, err)
	certificate, err := x509.ParseCertificate(der)
	require.NoError(t, err)
	return authority{certificate, key}
}

func TestSigningCertificatesAreOfSNS(t *testing.T) {
	t.Parallel()
	const region, issuer = "sns.eu-central-1.amazonaws.com", "http://crt.r2m01.amazontrust.com/r2m01.cer"
	ca := x509.Certificate{IsCA: true, KeyUsage: x509.KeyUsageCertSign, Subject: pkix.Name{CommonName: "root"}}
	root := issue(t, nil, ca)
	ca.Subject.CommonName = "intermediate"
	intermediate := issue(t, &root, ca)
	roots := x509.NewCertPool()
	roots.AddCert(root.certificate)
	leaf := func(by *authority, name string, issuers ...string) *x509.Certificate {
		return issue(t, by, x509.Certificate{DNSNames: []string{name}, Subject: pkix.Name{CommonName: "sns.amazonaws.com"}, IssuingCertificateURL: issuers}).certificate
	}
	for _, c := range []struct {
		name    string
		signing *x509.Certificate
		beside  []*x509.Certificate
		trusted bool
		fetched int
	}{
		{"with its issuer", leaf(&intermediate, "sns.amazonaws.com"), []*x509.Certificate{intermediate.certificate}, true, 0},
		{"of a root", leaf(&root, "sns.amazonaws.com"), nil, true, 0},
		{"of a region", leaf(&root, "sns-signing.eu-central-1.amazonaws.com"), nil, true, 0},
		{"whose issuer is fetched", leaf(&intermediate, "sns.amazonaws.com", issuer), nil, true, 1},
		{"of another name", leaf(&root, "sns.evil.example"), nil, false, 0},
		{"of another service", leaf(&root, "s3.amazonaws.com"), nil, false, 0},
		{"of another region", leaf(&root, "sns-signing.us-east-1.amazonaws.com"), nil, false, 0},
		{"that signed itself", leaf(nil, "sns.amazonaws.com"), nil, false, 0},
		{"of a stranger's authority", leaf(new(issue(t, nil, ca)), "sns.amazonaws.com"), nil, false, 0},
		{"whose issuer is a stranger's address", leaf(&intermediate, "sns.amazonaws.com", "http://evil.example/a.cer", "http://10.0.0.1/a.cer",
			"http://x@crt.amazontrust.com.evil.example/a.cer", "ldap://crt.amazontrust.com/a"), nil, false, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			fetched := 0
			check := trust{roots: roots, fetch: func(_ context.Context, address string) ([]byte, error) {
				fetched++
				require.Equal(t, issuer, address)
				return intermediate.certificate.Raw, nil
			}}
			err := check.check(t.Context(), region, c.signing, c.beside, time.Now())
			require.Equal(t, c.fetched, fetched)
			if c.trusted {
				require.NoError(t, err)
				require.ErrorIs(t, check.check(t.Context(), region, c.signing, c.beside, time.Now().Add(48*time.Hour)), ErrForeign, "it expires")
				return
			}
			require.ErrorIs(t, err, ErrForeign)
		})
	}
}

func TestFilesOfCertificates(t *testing.T) {
	t.Parallel()
	one := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: issue(t, nil, x509.Certificate{}).certificate.Raw})
	for name, c := range map[string]struct {
		text string
		want int
	}{
		"one": {string(one), 1}, "two": {string(one) + "comment\n" + string(one), 2}, "none": {"text", 0},
		"a key": {"-----BEGIN KEY-----\nAAAA\n-----END KEY-----\n", 0}, "damaged": {"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			found, err := parseCertificates([]byte(c.text))
			require.Len(t, found, c.want)
			if c.want == 0 {
				require.ErrorIs(t, err, ErrUnavailable)
			}
		})
	}
}

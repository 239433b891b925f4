package destinations

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"strings"

	"github.com/google/uuid"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/egress"
)

// checkTLS refuses certificates that connections cannot use. refuse gets the field of each error.
func checkTLS(sent *orchv1.DestinationTlsWrite, refuse func(text string, path ...string)) {
	switch {
	case sent.GetCertificate() != "" && sent.GetKey() == "":
		refuse("the certificate needs its key", "tls", "key")
	case sent.GetKey() != "" && sent.GetCertificate() == "":
		refuse("the key needs its certificate", "tls", "certificate")
	case sent.GetKey() != "":
		if _, err := tls.X509KeyPair([]byte(sent.GetCertificate()), []byte(sent.GetKey())); err != nil {
			refuse("certificate and key are no pair of PEM texts", "tls", "certificate") // The error may quote the key.
		}
	}
	if sent.GetCa() != "" && !x509.NewCertPool().AppendCertsFromPEM([]byte(sent.GetCa())) {
		refuse("this is not a PEM text with certificates", "tls", "ca")
	}
}

// sealTLS replaces the certificates of a destination; nil removes them.
func (s *Service) sealTLS(ws uuid.UUID, d *orchv1.Destination, sent *orchv1.DestinationTlsWrite) (err error) {
	d.Tls, d.SealedKey = nil, nil
	if sent == nil {
		return nil
	}
	d.Tls = &orchv1.DestinationTls{Certificate: sent.GetCertificate(), Ca: sent.GetCa()}
	if sent.GetKey() != "" {
		d.SealedKey, err = s.seal(ws, d, fieldKey, []byte(sent.GetKey()))
	}
	return err
}

// routeOf returns how requests reach a destination.
func (s *Service) routeOf(ws uuid.UUID, d *orchv1.Destination) (egress.Route, error) {
	r := egress.Route{Proxy: d.GetProxy()}
	if d.SealedKey != nil {
		key, err := s.open(ws, d, fieldKey, d.GetSealedKey())
		if err != nil {
			return r, err
		}
		pair, err := tls.X509KeyPair([]byte(d.GetTls().GetCertificate()), key)
		if err != nil {
			return r, errors.New("read the client certificate of a destination: certificate and key are no pair")
		}
		r.Certificates = []tls.Certificate{pair}
	}
	if ca := d.GetTls().GetCa(); ca != "" {
		r.Authorities = x509.NewCertPool()
		r.Authorities.AppendCertsFromPEM([]byte(ca))
	}
	return r, nil
}

// usesTLS reports whether an address is one of https.
func usesTLS(address string) bool { return strings.HasPrefix(strings.ToLower(address), "https:") }

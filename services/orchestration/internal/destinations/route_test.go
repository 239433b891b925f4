package destinations

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/types/known/fieldmaskpb"

	"github.com/orch-project/orch/pkg/rpc"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/egress"
)

// newPair returns a certificate that signed itself, and its key, as PEM.
func newPair(t *testing.T) (certificate, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	require.NoError(t, err)
	raw, err := x509.MarshalPKCS8PrivateKey(private)
	require.NoError(t, err)
	return pemOf("CERTIFICATE", der), pemOf("PRIVATE KEY", raw)
}

func pemOf(kind string, der []byte) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
}

// A destination that demands a client certificate gets it, and its own certificate is verified by the given authorities.
func TestCertificatesOfBothSides(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	certificate, key := newPair(t)
	other, otherKey := newPair(t)
	trusted := x509.NewCertPool()
	require.True(t, trusted.AppendCertsFromPEM([]byte(certificate)))
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	server.TLS = &tls.Config{ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: trusted, MinVersion: tls.VersionTLS12}
	server.StartTLS()
	t.Cleanup(server.Close)
	ca := pemOf("CERTIFICATE", server.Certificate().Raw)
	for name, c := range map[string]struct {
		tls   *orchv1.DestinationTlsWrite
		state orchv1.DestinationDeliveryState
		cause string
	}{
		"both":                {&orchv1.DestinationTlsWrite{Certificate: certificate, Key: key, Ca: ca}, delivered, ""},
		"another certificate": {&orchv1.DestinationTlsWrite{Certificate: other, Key: otherKey, Ca: ca}, pending, "certificate"},
		"no certificate":      {&orchv1.DestinationTlsWrite{Ca: ca}, pending, "certificate"},
		"another authority":   {&orchv1.DestinationTlsWrite{Certificate: certificate, Key: key, Ca: other}, pending, "certificate signed by unknown authority"},
		"no authority":        {&orchv1.DestinationTlsWrite{Certificate: certificate, Key: key}, pending, "certificate signed by unknown authority"},
	} {
		t.Run(name, func(t *testing.T) {
			d := w.create(server.URL, func(create *orchv1.DestinationCreate) { create.Tls = c.tls })
			require.NotContains(t, prototext.Format(d), "PRIVATE KEY")
			w.emit("order.1")
			w.pass()
			log := w.log(d)[0]
			require.Equal(t, c.state, log.GetState(), log.GetError())
			require.Contains(t, log.GetError(), c.cause)
		})
	}
}

// Requests go through the proxy of the destination, with the credentials of the operator. Addresses of the receiver that the policy refuses
// are refused with a proxy too.
func TestRequestsGoThroughTheProxy(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	seen := make(chan string, 10)
	proxy := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		seen <- r.URL.String() + " " + r.Header.Get("Proxy-Authorization")
	}))
	t.Cleanup(proxy.Close)
	proxies, err := egress.ParseProxies([]string{strings.Replace(proxy.URL, "http://", "http://user:topsecret@", 1)})
	require.NoError(t, err)
	w.Proxies, w.client = proxies, egress.NewClient(w.Dial, proxies, "test", egress.Timeout)
	through := func(c *orchv1.DestinationCreate) { c.Proxy = &proxy.URL }
	d := w.create("http://receiver.invalid/events", through)
	w.emit("order.1")
	w.pass()
	require.Equal(t, "http://receiver.invalid/events Basic dXNlcjp0b3BzZWNyZXQ=", <-seen)
	require.Equal(t, delivered, w.log(d)[0].GetState())
	require.NotContains(t, prototext.Format(w.log(d)[0])+prototext.Format(w.read(d)), "topsecret")

	private := w.create("http://169.254.169.254/latest", through)
	w.emit("order.2")
	w.pass()
	require.Equal(t, egress.ReasonAddress, w.log(private)[0].GetReason())
	require.Equal(t, "http://receiver.invalid/events Basic dXNlcjp0b3BzZWNyZXQ=", <-seen)
	require.Empty(t, seen)

	w.client = egress.NewClient(w.Dial, nil, "test", egress.Timeout)
	w.clock.Advance(time.Second)
	w.emit("order.3")
	w.pass()
	log := w.log(d)
	require.Contains(t, log[len(log)-1].GetError(), egress.ErrProxy.Error(), "the operator permits it no more")
}

// Certificates, clients and proxies that could not be used are refused, each at its field.
func TestRoutesAreChecked(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	certificate, key := newPair(t)
	other, _ := newPair(t)
	proxy := "http://proxy.invalid:3128"
	for name, c := range map[string]struct {
		field  string
		change func(*orchv1.DestinationCreate)
	}{
		"no key":         {"tls.key", func(c *orchv1.DestinationCreate) { c.Tls = &orchv1.DestinationTlsWrite{Certificate: certificate} }},
		"no certificate": {"tls.certificate", func(c *orchv1.DestinationCreate) { c.Tls = &orchv1.DestinationTlsWrite{Key: key} }},
		"another key":    {"tls.certificate", func(c *orchv1.DestinationCreate) { c.Tls = &orchv1.DestinationTlsWrite{Certificate: other, Key: key} }},
		"no PEM":         {"tls.ca", func(c *orchv1.DestinationCreate) { c.Tls = &orchv1.DestinationTlsWrite{Ca: "topsecret"} }},
		"http": {"tls", func(c *orchv1.DestinationCreate) {
			c.Url, c.Tls = "http://example.com", &orchv1.DestinationTlsWrite{Certificate: certificate, Key: key}
		}},
		"token url":     {"oauth.token_url", func(c *orchv1.DestinationCreate) { c.Oauth = &orchv1.DestinationOAuthWrite{TokenUrl: "ftp://a"} }},
		"unknown proxy": {"proxy", func(c *orchv1.DestinationCreate) { c.Proxy = &proxy }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			create := &orchv1.DestinationCreate{Name: name, Url: "https://example.com", Subscriptions: []*orchv1.DestinationSubscription{{Events: []string{"a"}}}}
			c.change(create)
			_, err := w.CreateDestination(w.ctx(), &orchv1.CreateDestinationRequest{Destination: create})
			fields := rpc.HTTPError(err).GetFieldErrors().GetErrors()
			require.Len(t, fields, 1)
			var path []string
			for _, one := range fields[0].GetLoc()[1:] {
				path = append(path, one.GetKey())
			}
			require.Equal(t, c.field, strings.Join(path, "."))
			require.NotContains(t, prototext.Format(fields[0]), "PRIVATE KEY")
		})
	}
}

// Whoever moves the secrets of requests to another address or proxy has to know them.
func TestAnotherRouteNeedsTheSecrets(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	proxy := "http://proxy.invalid:3128"
	proxies, err := egress.ParseProxies([]string{proxy})
	require.NoError(t, err)
	w.Proxies = proxies
	const token = "https://token.example.com/"
	write := &orchv1.DestinationOAuthWrite{TokenUrl: token, ClientId: "client", ClientSecret: "topsecret"}
	for name, c := range map[string]struct {
		update *orchv1.DestinationUpdate
		fields []string
		field  string // The refused one, empty for none.
	}{
		"another address":              {&orchv1.DestinationUpdate{Url: "https://other.example.com"}, []string{"url"}, "url"},
		"another address, with client": {&orchv1.DestinationUpdate{Url: "https://other.example.com", Oauth: write}, []string{"url", "oauth"}, ""},
		"another address, no client":   {&orchv1.DestinationUpdate{Url: "https://other.example.com"}, []string{"url", "oauth"}, ""},
		"a proxy":                      {&orchv1.DestinationUpdate{Proxy: &proxy}, []string{"proxy"}, "proxy"},
		"a proxy, with client":         {&orchv1.DestinationUpdate{Proxy: &proxy, Oauth: write}, []string{"proxy", "oauth"}, ""},
		"no proxy":                     {&orchv1.DestinationUpdate{}, []string{"proxy"}, ""},
		"another setting":              {&orchv1.DestinationUpdate{Description: "b"}, []string{"description"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := w.create("https://example.com", client(token))
			_, err := w.UpdateDestination(w.ctx(), &orchv1.UpdateDestinationRequest{
				Id: d.GetId(), Destination: c.update, UpdateMask: &fieldmaskpb.FieldMask{Paths: c.fields},
			})
			if c.field == "" {
				require.NoError(t, err)
				return
			}
			fields := rpc.HTTPError(err).GetFieldErrors().GetErrors()
			require.Len(t, fields, 1)
			require.Equal(t, c.field, fields[0].GetLoc()[1].GetKey())
		})
	}
}

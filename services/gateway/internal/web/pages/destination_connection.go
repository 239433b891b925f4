package pages

import (
	"strings"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/gateway/internal/web/apicall"
	"github.com/orch-project/orch/services/gateway/internal/web/page"
)

// connectionFields are the fields of how a destination is reached: OAuth 2 client, certificates and proxy. Controls that stand for a whole
// object have its name, by which a 422 marks them.
func connectionFields(d *orchv1.Destination) []field {
	client, tls := d.GetOauth(), d.GetTls()
	kept := ""
	if client != nil {
		kept = " Empty keeps the stored one, unless the client changes."
	}
	keptKey := ""
	if tls.GetCertificate() != "" {
		keptKey = " Empty keeps the stored one, unless the certificates change."
	}
	return []field{
		{Name: "oauth", Label: "OAuth 2 token endpoint", Value: client.GetTokenUrl(), Max: 2048, Hint: "Deliveries have a token of it (client_credentials); empty for none."},
		{Name: "oauth_client_id", Label: "OAuth 2 client id", Value: client.GetClientId(), Max: 1024},
		{Name: "oauth_client_secret", Label: "OAuth 2 client secret", Kind: "password", Max: 4096, Hint: strings.TrimSpace(kept)},
		{Name: "oauth_scopes", Label: "OAuth 2 scopes", Value: strings.Join(client.GetScopes(), ", "), Hint: "Separated by commas; empty for those that the endpoint chooses."},
		{Name: "tls", Label: "Client certificate", Kind: "textarea", Value: tls.GetCertificate(), Hint: "PEM with its chain; empty for none."},
		{Name: "tls_key", Label: "Key of the certificate", Kind: "textarea", Hint: "PEM, not encrypted; it is never shown." + keptKey},
		{Name: "tls_ca", Label: "Authorities", Kind: "textarea", Value: tls.GetCa(), Hint: "PEM of those that verify the destination; empty for the server's."},
		{Name: "proxy", Label: "Forward proxy", Value: d.GetProxy(), Max: 2048, Hint: "Origin of a proxy that the operator permits; empty for none."},
	}
}

// addConnection adds the fields of connectionFields that differ from the shown destination to a body. An object whose secret is not typed is
// not sent while its other fields are unchanged, because the server keeps its secret only then.
func addConnection(r *page.Request, shown *orchv1.Destination, body apicall.JSON, refuse func(name, problem string)) {
	if !r.Form.Has("oauth") {
		return // A form of an earlier version has no such fields.
	}
	if proxy := r.Field("proxy"); proxy != shown.GetProxy() {
		body["proxy"] = nil
		if proxy != "" {
			body["proxy"] = proxy
		}
	}
	client, secret := shown.GetOauth(), r.Field("oauth_client_secret")
	endpoint, id, scopes := r.Field("oauth"), r.Field("oauth_client_id"), tagList(r.Field("oauth_scopes"))
	same := endpoint == client.GetTokenUrl() && id == client.GetClientId() && strings.Join(scopes, ",") == strings.Join(client.GetScopes(), ",")
	switch {
	case secret == "" && same:
	case endpoint == "":
		body["oauth"] = nil
	case secret == "":
		refuse("oauth_client_secret", "a new or changed client needs its secret")
	default:
		body["oauth"] = apicall.JSON{"token_url": endpoint, "client_id": id, "client_secret": secret, "scopes": scopes}
	}
	certificate, key, ca := pem(r, "tls"), pem(r, "tls_key"), pem(r, "tls_ca")
	same = certificate == strings.TrimSpace(shown.GetTls().GetCertificate()) && ca == strings.TrimSpace(shown.GetTls().GetCa())
	switch {
	case key == "" && same:
	case certificate == "" && ca == "":
		body["tls"] = nil
	case certificate != "" && key == "":
		refuse("tls_key", "new or changed certificates need the key")
	default:
		body["tls"] = apicall.JSON{"certificate": certificate, "key": key, "ca": ca}
	}
}

// pem returns the text of a control without the line ends of a browser.
func pem(r *page.Request, name string) string { return strings.TrimSpace(newlines(r.Form.Get(name))) }

package verify

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"mime"
	"slices"
	"strings"

	"github.com/orch-project/orch/pkg/webhook/receive"
)

// maxTwilioFields bounds the fields of a form that is parsed before its signature is known. Twilio sends below a hundred.
const maxTwilioFields = 1000

// bodyDigest is the query parameter in which Twilio sends the digest of a body that is not a form.
const bodyDigest = "bodySHA256"

// twilioContents returns what Twilio may have signed: the URL, followed by the form's fields in order of their names. Of
// another body the URL has a digest. There is one text for each form of the URL: the server does not know which scheme
// and port the caller saw before proxies. They share the fields, which may be as long as the body. A body whose digest
// differs has none.
func twilioContents(r *receive.Request, body []byte) []signedText {
	var fields []byte
	digest := ""
	for _, p := range receive.ParseQuery(r.Query) {
		if p.Key == bodyDigest {
			digest = p.Value
		}
	}
	switch {
	case digest != "":
		sum := sha256.Sum256(body)
		if !strings.EqualFold(digest, hex.EncodeToString(sum[:])) {
			return nil
		}
	case isForm(r) && bytes.Count(body, []byte{'&'}) < maxTwilioFields:
		fields = twilioFields(body)
	case len(body) > 0:
		return nil // Neither the URL nor the signature covers the body.
	}
	urls := addresses(r)
	contents := make([]signedText, len(urls))
	for i, url := range urls {
		contents[i] = signedText{before: url, body: fields}
	}
	return contents
}

func isForm(r *receive.Request) bool {
	kind, _, err := mime.ParseMediaType(r.Get("content-type"))
	return err == nil && kind == "application/x-www-form-urlencoded"
}

// twilioFields joins names and values of a form, in order of the names. Values of one name are in order, each once.
func twilioFields(body []byte) []byte {
	values := map[string][]string{}
	var names []string
	for pair := range strings.SplitSeq(string(body), "&") {
		if pair == "" {
			continue
		}
		for _, p := range receive.ParseQuery(pair) {
			if _, exists := values[p.Key]; !exists {
				names = append(names, p.Key)
			}
			values[p.Key] = append(values[p.Key], p.Value)
		}
	}
	slices.Sort(names)
	var out bytes.Buffer
	for _, name := range names {
		slices.Sort(values[name])
		for _, value := range slices.Compact(values[name]) {
			out.WriteString(name)
			out.WriteString(value)
		}
	}
	return out.Bytes()
}

// addresses returns the URLs under which a sender may have called: the host with and without a port, over HTTPS and HTTP.
func addresses(r *receive.Request) []string {
	var hosts []string
	for _, host := range []string{r.Get("host"), r.Get("x-forwarded-host")} {
		host, _, _ = strings.Cut(host, ",")
		if host = strings.TrimSpace(host); host == "" {
			continue
		}
		bare := host
		if at := strings.LastIndexByte(host, ':'); at > strings.LastIndexByte(host, ']') {
			bare = host[:at]
		}
		for _, form := range []string{host, bare, bare + ":443", bare + ":80"} {
			if !slices.Contains(hosts, form) {
				hosts = append(hosts, form)
			}
		}
	}
	var all []string
	for _, host := range hosts {
		all = append(all, "https://"+host+r.URI, "http://"+host+r.URI)
	}
	return all
}

package verify

import (
	"bytes"
	"fmt"
	"strings"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// FieldError describes one invalid field of a verification's settings.
type FieldError struct{ Field, Message string }

// minSecret is the minimum length of a secret, in bytes of its decoded key. A shorter one can be guessed from one
// signed request. Senders generate long ones.
const minSecret = 8

// Settings returns the settings to store for an input, or its field errors. They do not contain the input's secrets.
func Settings(in *orchv1.WebhookVerificationInput) (*orchv1.WebhookVerification, []FieldError) {
	out := &orchv1.WebhookVerification{Scheme: in.GetScheme(), Tolerance: in.GetTolerance()}
	var fieldErrors []FieldError
	refuse := func(field, message string) { fieldErrors = append(fieldErrors, FieldError{field, message}) }
	if in.GetScheme() == orchv1.WebhookScheme_WEBHOOK_SCHEME_SNS {
		out.TopicArns = in.GetTopicArns()
		if len(out.GetTopicArns()) == 0 {
			refuse("topic_arns", "name the topics, or the id of their account: Amazon SNS signs the messages of every customer")
		}
	} else if len(in.GetTopicArns()) > 0 {
		refuse("topic_arns", "only messages of Amazon SNS have topics")
	}
	switch in.GetScheme() {
	case orchv1.WebhookScheme_WEBHOOK_SCHEME_TOKEN:
		out, more := tokenSettings(in)
		return out, append(fieldErrors, more...)
	case orchv1.WebhookScheme_WEBHOOK_SCHEME_HMAC:
	default:
		for _, f := range []struct {
			name string
			set  bool
		}{
			{"header", in.Header != nil},
			{"prefix", in.Prefix != nil},
			{"timestamp_header", in.TimestampHeader != nil},
			{"id_header", in.IdHeader != nil},
			{"signed_content", in.SignedContent != nil},
		} {
			if f.set {
				refuse(f.name, "only the schemes hmac and token can be described; the others are as their senders have them")
			}
		}
		return out, fieldErrors
	}
	out.Digest, out.Encoding = in.GetDigest().Enum(), in.GetEncoding().Enum()
	out.Header, out.Prefix, out.TimestampHeader, out.IdHeader = in.Header, in.Prefix, in.TimestampHeader, in.IdHeader
	if out.GetDigest() == orchv1.WebhookDigest_WEBHOOK_DIGEST_UNSPECIFIED {
		out.Digest = orchv1.WebhookDigest_WEBHOOK_DIGEST_SHA256.Enum()
	}
	if out.GetEncoding() == orchv1.WebhookEncoding_WEBHOOK_ENCODING_UNSPECIFIED {
		out.Encoding = orchv1.WebhookEncoding_WEBHOOK_ENCODING_HEX.Enum()
	}
	if out.Header == nil {
		refuse("header", "hmac needs the name of the header that carries the signature")
	}
	for _, f := range []struct {
		name  string
		value *string
	}{{"header", in.Header}, {"timestamp_header", in.TimestampHeader}, {"id_header", in.IdHeader}} {
		if f.value != nil && !headerName(*f.value) {
			refuse(f.name, "this is not the name of a header")
		} else if f.value != nil && strings.EqualFold(*f.value, "authorization") {
			refuse(f.name, "Authorization carries the key of a service account")
		}
	}
	out.SignedContent = in.SignedContent
	if out.SignedContent == nil {
		content := "{body}"
		if out.TimestampHeader != nil {
			content = "{timestamp}." + content
		}
		out.SignedContent = &content
	}
	content := out.GetSignedContent()
	if strings.Count(content, "{body}") != 1 {
		refuse("signed_content", "it must name {body} once")
	}
	if strings.Contains(content, "{timestamp}") != (out.TimestampHeader != nil) {
		refuse("signed_content", "{timestamp} and timestamp_header go together: a timestamp that is not signed proves nothing")
	}
	if strings.Contains(content, "{id}") && out.IdHeader == nil {
		refuse("signed_content", "{id} needs id_header")
	}
	return out, fieldErrors
}

// tokenSettings returns the settings of a secret that a header carries as it is.
func tokenSettings(in *orchv1.WebhookVerificationInput) (*orchv1.WebhookVerification, []FieldError) {
	out := &orchv1.WebhookVerification{
		Scheme: in.GetScheme(), Tolerance: in.GetTolerance(), Header: in.Header, Prefix: in.Prefix, IdHeader: in.IdHeader,
	}
	var fieldErrors []FieldError
	if in.Header == nil {
		fieldErrors = append(fieldErrors, FieldError{"header", "token needs the name of the header that carries it"})
	}
	if strings.EqualFold(in.GetIdHeader(), "authorization") {
		fieldErrors = append(fieldErrors, FieldError{"id_header", "Authorization carries a credential and no id"})
	}
	for _, f := range []struct {
		name  string
		value *string
	}{{"header", in.Header}, {"id_header", in.IdHeader}} {
		if f.value != nil && !headerName(*f.value) {
			fieldErrors = append(fieldErrors, FieldError{f.name, "this is not the name of a header"})
		}
	}
	for _, f := range []struct {
		name string
		set  bool
	}{
		{"timestamp_header", in.TimestampHeader != nil},
		{"signed_content", in.SignedContent != nil},
		{"digest", in.GetDigest() > orchv1.WebhookDigest_WEBHOOK_DIGEST_SHA256},
		{"encoding", in.GetEncoding() > orchv1.WebhookEncoding_WEBHOOK_ENCODING_HEX},
	} {
		if f.set {
			fieldErrors = append(fieldErrors, FieldError{f.name, "a token signs nothing"})
		}
	}
	return out, fieldErrors
}

// CheckSecrets returns the errors of the secrets of a verification, by their indexes.
func CheckSecrets(v *orchv1.WebhookVerification, secrets []string) map[int]string {
	fieldErrors := map[int]string{}
	s, err := schemeOf(v)
	if err != nil {
		return fieldErrors // Settings reports it.
	}
	if s.certified {
		for i := range secrets {
			fieldErrors[i] = "the provider signs with a certificate: there is no secret"
		}
		return fieldErrors
	}
	for i, secret := range secrets {
		switch key, err := s.key(secret); {
		case err != nil:
			fieldErrors[i] = s.secretForm
		case min(len(secret), len(bytes.TrimPrefix(key, []byte(standardPrefix)))) < minSecret:
			fieldErrors[i] = fmt.Sprintf("a secret has at least %d bytes, decoded and without its prefix", minSecret)
		}
	}
	return fieldErrors
}

// headerName reports whether s is a token of HTTP.
func headerName(s string) bool {
	for i := range len(s) {
		c := s[i]
		if (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') && !strings.ContainsRune("!#$%&'*+-.^_`|~", rune(c)) {
			return false
		}
	}
	return s != ""
}

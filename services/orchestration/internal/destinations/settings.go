package destinations

import (
	"errors"
	"fmt"
	"net/http"
	"net/textproto"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"
	"golang.org/x/net/http/httpguts"
	"google.golang.org/protobuf/proto"

	"github.com/orch-project/orch/pkg/jinja"
	"github.com/orch-project/orch/pkg/rpc"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/egress"
)

// The bounds of the headers of a destination: their number, and the bytes of a value.
const (
	maxHeaders     = 20
	maxHeaderValue = 4096
)

// framing are headers that the client sets: they frame the message, or belong to the signature.
var framing = []string{
	"Connection", "Content-Length", "Expect", "Host", "Keep-Alive", "Proxy-Connection", "Te", "Trailer", "Transfer-Encoding", "Upgrade",
	"Webhook-Id", "Webhook-Signature", "Webhook-Timestamp",
}

// settings are the fields that the Create and Update messages share.
type settings interface {
	GetName() string
	GetDescription() string
	GetEnabled() bool
	GetUrl() string
	GetHeaders() map[string]string
	GetSecret() string
	GetSubscriptions() []*orchv1.DestinationSubscription
	GetOrderedBy() []string
	GetRetryFor() int64
	GetOauth() *orchv1.DestinationOAuthWrite
	GetTls() *orchv1.DestinationTlsWrite
}

// optionals are the fields whose absence has a meaning of its own.
type optionals struct {
	rateLimit *int64
	proxy     *string
}

// allSettings are the names of all these fields.
var allSettings = []string{
	"name", "description", "enabled", "url", "headers", "secret", "subscriptions", "ordered_by", "rate_limit", "retry_for", "oauth", "tls", "proxy",
}

// apply applies the sent fields, and encrypts the secrets among them. It returns one 422 with all field errors.
func (s *Service) apply(ws uuid.UUID, d *orchv1.Destination, sent settings, optional optionals, fields []string) error {
	var fieldErrors []*orchv1.FieldError
	refuse := func(text string, path ...string) {
		fieldErrors = append(fieldErrors, rpc.BodyError("value_error", "Value error, "+text, path...))
	}
	for _, field := range fields {
		var err error
		switch field {
		case "name":
			d.Name = sent.GetName()
		case "description":
			d.Description = sent.GetDescription()
		case "enabled":
			d.Enabled = sent.GetEnabled()
		case "url":
			if err := checkURL(d, sent.GetUrl(), fields); err != nil {
				refuse(err.Error(), "url")
			}
			d.Url = sent.GetUrl()
		case "headers":
			checkHeaders(sent.GetHeaders(), refuse)
			err = s.sealHeaders(ws, d, sent.GetHeaders())
		case "secret":
			if secret := sent.GetSecret(); secret != "" && egress.CheckSecret(secret) != nil {
				refuse("the secret "+egress.ErrSecret.Error(), "secret")
			}
			err = s.sealSecret(ws, d, sent.GetSecret())
		case "subscriptions":
			s.checkSubscriptions(sent.GetSubscriptions(), refuse)
			d.Subscriptions = sent.GetSubscriptions()
		case "ordered_by":
			for i, label := range sent.GetOrderedBy() {
				if label == "" || len(label) > maxLabel {
					refuse(fmt.Sprintf("a label has 1 to %d bytes", maxLabel), "ordered_by", strconv.Itoa(i))
				}
			}
			d.OrderedBy = sent.GetOrderedBy()
		case "rate_limit":
			d.RateLimit = optional.rateLimit
		case "retry_for":
			d.RetryFor = sent.GetRetryFor()
		case "oauth":
			if sent.GetOauth() != nil && egress.CheckAddress(sent.GetOauth().GetTokenUrl()) != nil {
				refuse(egress.ErrAddress.Error(), "oauth", "token_url")
			}
			err = s.sealOAuth(ws, d, sent.GetOauth())
		case "tls":
			checkTLS(sent.GetTls(), refuse)
			err = s.sealTLS(ws, d, sent.GetTls())
		case "proxy":
			if err := s.checkProxy(d, optional.proxy, fields); err != nil {
				refuse(err.Error(), "proxy")
			}
			d.Proxy = optional.proxy
		}
		if err != nil {
			return err
		}
	}
	if n := proto.Size(d); n > maxDestination {
		refuse(fmt.Sprintf("the destination has %d bytes, the limit is %d", n, maxDestination))
	}
	if d.Tls != nil && !usesTLS(d.GetUrl()) {
		refuse("certificates need an address of https", "tls")
	}
	if len(fieldErrors) > 0 {
		return rpc.Invalid(fieldErrors...)
	}
	return nil
}

// maxDestination bounds all settings of a destination in bytes: each session has one in memory.
const maxDestination = 512 << 10

// maxLabel bounds the name of a label, maxPattern the name of an event in a subscription, and maxPatternLengths all names in
// the subscriptions of a destination, in bytes: the Matcher keeps them in memory.
const (
	maxLabel          = 255
	maxPattern        = 1024
	maxPatternLengths = 64 << 10
)

var (
	errMaskedURL   = errors.New("the path of the address is masked; send the whole address")
	errKeptSecrets = errors.New("another address would receive the headers or tokens of the destination; send headers and oauth again with it")
)

// checkURL refuses an address that messages cannot be sent to. Whoever changes the address of a destination must know its headers, which
// are secrets: the new address receives them.
func checkURL(d *orchv1.Destination, address string, fields []string) error {
	switch {
	case strings.HasSuffix(address, maskedPath):
		return errMaskedURL
	case address != d.GetUrl() && keepsSecrets(d, fields):
		return errKeptSecrets
	}
	return egress.CheckAddress(address)
}

// checkProxy refuses a proxy that the operator does not permit, and one that would receive secrets which its editor need not know.
func (s *Service) checkProxy(d *orchv1.Destination, proxy *string, fields []string) error {
	if proxy == nil {
		return nil
	}
	if *proxy != d.GetProxy() && keepsSecrets(d, fields) {
		return errKeptSecrets
	}
	_, err := s.Proxies.Find(*proxy)
	return err
}

// keepsSecrets reports whether a change of fields leaves secrets that requests show to whoever receives them.
func keepsSecrets(d *orchv1.Destination, fields []string) bool {
	return d.SealedHeaders != nil && !slices.Contains(fields, "headers") || d.SealedClientSecret != nil && !slices.Contains(fields, "oauth")
}

func checkHeaders(headers map[string]string, refuse func(text string, path ...string)) {
	if len(headers) > maxHeaders {
		refuse(fmt.Sprintf("there are at most %d headers", maxHeaders), "headers")
	}
	for name, value := range headers {
		switch {
		case !httpguts.ValidHeaderFieldName(name):
			refuse("this is not the name of a header", "headers", name)
		case slices.Contains(framing, textproto.CanonicalMIMEHeaderKey(name)):
			refuse("the server sets this header", "headers", name)
		case !httpguts.ValidHeaderFieldValue(value) || len(value) > maxHeaderValue:
			refuse(fmt.Sprintf("the value of a header has at most %d bytes, and no control characters", maxHeaderValue), "headers", name)
		}
	}
}

// checkSubscriptions refuses texts that are too long, and filters and templates that do not compile.
func (s *Service) checkSubscriptions(subscriptions []*orchv1.DestinationSubscription, refuse func(text string, path ...string)) {
	patternLengths := 0
	for i, subscription := range subscriptions {
		at := []string{"subscriptions", strconv.Itoa(i)}
		for j, name := range subscription.GetEvents() {
			patternLengths += len(name)
			if name == "" || len(name) > maxPattern {
				refuse(fmt.Sprintf("the name of an event has 1 to %d bytes", maxPattern), append(slices.Clone(at), "events", strconv.Itoa(j))...)
			}
		}
		if subscription.Filter != nil {
			if _, err := s.templates.CachedExpression(subscription.GetFilter()); err != nil {
				refuse(templateError(err), append(slices.Clone(at), "filter")...)
			}
		}
		if subscription.Template != nil {
			if _, err := s.templates.Cached(subscription.GetTemplate()); err != nil {
				refuse(templateError(err), append(slices.Clone(at), "template")...)
			}
		}
	}
	if patternLengths > maxPatternLengths {
		refuse(fmt.Sprintf("the names of events have %d bytes, the limit is %d", patternLengths, maxPatternLengths), "subscriptions")
	}
}

// templateError is the error of a filter or a template, with its position.
func templateError(err error) string {
	if at, ok := errors.AsType[*jinja.Error](err); ok {
		return at.Error()
	}
	return err.Error()
}

// conflict is the 409 for a name that another destination has.
func conflict(d *orchv1.Destination) error {
	return rpc.Detail(http.StatusConflict, fmt.Sprintf("A destination with the name '%s' already exists.", strings.ToValidUTF8(d.GetName(), "\ufffd")))
}

package webhooks

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strconv"

	"github.com/google/uuid"

	"github.com/orch-project/orch/pkg/clientaddr"
	"github.com/orch-project/orch/pkg/rpc"
	"github.com/orch-project/orch/pkg/webhook/verify"
	"github.com/orch-project/orch/pkg/webhookdef"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// ingestion has the ingestion fields that Create, Replace and Update messages share.
type ingestion interface {
	GetVerification() *orchv1.WebhookVerificationInput
	GetDeduplication() orchv1.WebhookDeduplication
	GetHandshakes() []orchv1.WebhookHandshake
	GetRateLimit() *orchv1.WebhookRateLimit
	GetAllowedIps() []string
	GetVerifyToken() string
	GetUndefined() orchv1.WebhookUndefined
	GetMethods() []orchv1.WebhookMethod
	GetFilter() string
	GetFilterError() orchv1.WebhookFilterError
	GetResponse() *orchv1.WebhookResponse
}

// ingestionFields are the names of these fields. A replace without them leaves them unchanged: a client that renames a
// webhook must not remove its protection.
var ingestionFields = []string{
	"verification", "deduplication", "handshakes", "rate_limit", "allowed_ips", "verify_token", "undefined", "methods", "filter", "filter_error",
	"response",
}

// syntaxError is the type of the field error of a template that does not compile.
const syntaxError = "template_syntax"

// setIngestion applies the sent fields, and encrypts the secrets among them. It returns one 422 with all field errors.
func (s *Service) setIngestion(ws uuid.UUID, w *orchv1.Webhook, sent ingestion, fields []string) error {
	var fieldErrors []*orchv1.FieldError
	refuse := func(text string, path ...string) {
		fieldErrors = append(fieldErrors, rpc.BodyError("value_error", "Value error, "+text, path...))
	}
	seal := func(field, secret string) (string, error) {
		id, err := uuid.Parse(w.GetId())
		if err != nil {
			return "", fmt.Errorf("encrypt secret: %w", err)
		}
		sealed, err := s.secrets.Seal(webhookdef.SecretPlace(ws, id, field), []byte(secret))
		return base64.StdEncoding.EncodeToString(sealed), err
	}
	for _, field := range fields {
		switch field {
		case "verification":
			if err := setVerification(w, sent.GetVerification(), seal, refuse); err != nil {
				return err
			}
			if w.GetVerification() == nil && !slices.Contains(fields, "deduplication") {
				w.Deduplication = orchv1.WebhookDeduplication_WEBHOOK_DEDUPLICATION_UNSPECIFIED
			}
		case "deduplication":
			w.Deduplication = sent.GetDeduplication()
		case "handshakes":
			w.Handshakes = sent.GetHandshakes()
		case "rate_limit":
			w.RateLimit = sent.GetRateLimit()
		case "allowed_ips":
			for i, text := range sent.GetAllowedIps() {
				if _, err := clientaddr.ParseNetwork(text); err != nil {
					refuse(err.Error(), "allowed_ips", strconv.Itoa(i))
				}
			}
			w.AllowedIps = sent.GetAllowedIps()
		case "undefined":
			w.Undefined = sent.GetUndefined()
		case "methods":
			w.Methods = sent.GetMethods()
		case "filter":
			w.Filter = nil
			if filter := sent.GetFilter(); filter != "" {
				w.Filter = &filter
				if err := s.renderer.CheckFilter(filter); err != nil {
					fieldErrors = append(fieldErrors, rpc.BodyError(syntaxError, "Value error, "+err.Error(), field))
				}
			}
		case "filter_error":
			w.FilterError = sent.GetFilterError()
		case "response":
			w.Response = sent.GetResponse()
			for _, e := range s.renderer.CheckResponse(w.GetResponse()) {
				kind := "value_error"
				if e.Syntax {
					kind = syntaxError
				}
				fieldErrors = append(fieldErrors, rpc.BodyError(kind, "Value error, "+e.Message, append([]string{field}, e.Path...)...))
			}
		case "verify_token":
			w.SealedVerifyToken = nil
			if token := sent.GetVerifyToken(); token != "" {
				sealed, err := seal(webhookdef.FieldVerifyToken, token)
				if err != nil {
					return err
				}
				w.SealedVerifyToken = &sealed
			}
		}
	}
	checkIngestion(w, refuse)
	if len(fieldErrors) > 0 {
		return rpc.Invalid(fieldErrors...)
	}
	return nil
}

// setVerification applies the verification settings; nil disables verification.
func setVerification(
	w *orchv1.Webhook, in *orchv1.WebhookVerificationInput, seal func(field, secret string) (string, error), refuse func(text string, path ...string),
) error {
	before := w.GetVerification()
	if in == nil {
		w.Verification, w.SealedSecrets = nil, nil
		return nil
	}
	config, fieldErrors := verify.Settings(in)
	for _, f := range fieldErrors {
		refuse(f.Message, "verification", f.Field)
	}
	w.Verification = config
	if len(in.GetSecrets()) == 0 {
		if !verify.HasSecrets(config.GetScheme()) {
			w.SealedSecrets = nil
			return nil
		}
		// Secrets of one scheme are meaningless for another.
		if len(w.GetSealedSecrets()) == 0 || before.GetScheme() != config.GetScheme() {
			refuse("one or two secrets are needed", "verification", "secrets")
		}
		return nil
	}
	for i, text := range verify.CheckSecrets(config, in.GetSecrets()) {
		refuse(text, "verification", "secrets", strconv.Itoa(i))
	}
	w.SealedSecrets = make([]string, len(in.GetSecrets()))
	for i, secret := range in.GetSecrets() {
		var err error
		if w.SealedSecrets[i], err = seal(webhookdef.FieldSecrets, secret); err != nil {
			return err
		}
	}
	return nil
}

// checkIngestion checks combinations of fields.
func checkIngestion(w *orchv1.Webhook, refuse func(text string, path ...string)) {
	switch w.GetDeduplication() {
	case orchv1.WebhookDeduplication_WEBHOOK_DEDUPLICATION_CONTENT:
		if w.GetVerification() == nil {
			refuse("deduplication by content needs verification: an unsigned body proves no sender", "deduplication")
		}
	case orchv1.WebhookDeduplication_WEBHOOK_DEDUPLICATION_DELIVERY_ID:
		if w.GetVerification() == nil && w.ServiceAccountId == nil {
			refuse("deduplication needs verification or a service account: an id that anyone can claim could suppress an event", "deduplication")
		}
	}
	if w.ServiceAccountId != nil && slices.Contains(verify.CredentialHeaders(w.GetVerification()), "authorization") {
		refuse("Authorization carries the key of the service account: use another header, or no service account", "verification", "header")
	}
	if slices.Contains(w.GetHandshakes(), orchv1.WebhookHandshake_WEBHOOK_HANDSHAKE_META) && w.SealedVerifyToken == nil {
		refuse("the handshake of Meta needs verify_token", "handshakes")
	}
}

// deduplication returns the webhook's mode, or the default of its verification.
func deduplication(w *orchv1.Webhook) orchv1.WebhookDeduplication {
	if d := w.GetDeduplication(); d != orchv1.WebhookDeduplication_WEBHOOK_DEDUPLICATION_UNSPECIFIED {
		return d
	}
	if w.GetVerification() != nil {
		return orchv1.WebhookDeduplication_WEBHOOK_DEDUPLICATION_DELIVERY_ID
	}
	return orchv1.WebhookDeduplication_WEBHOOK_DEDUPLICATION_NONE
}

// filterErrorOf returns what the webhook does with a request whose filter fails.
func filterErrorOf(w *orchv1.Webhook) orchv1.WebhookFilterError {
	if w.GetFilterError() == orchv1.WebhookFilterError_WEBHOOK_FILTER_ERROR_UNSPECIFIED {
		return orchv1.WebhookFilterError_WEBHOOK_FILTER_ERROR_FAIL
	}
	return w.GetFilterError()
}

// undefinedOf returns what the webhook's template does with a missing value.
func undefinedOf(w *orchv1.Webhook) orchv1.WebhookUndefined {
	if w.GetUndefined() == orchv1.WebhookUndefined_WEBHOOK_UNDEFINED_UNSPECIFIED {
		return orchv1.WebhookUndefined_WEBHOOK_UNDEFINED_LENIENT
	}
	return w.GetUndefined()
}

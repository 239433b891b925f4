package receive

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
)

// The header fields of the CloudEvents web hook handshake.
const (
	headerRequestOrigin = "WebHook-Request-Origin"
	headerRequestRate   = "WebHook-Request-Rate"
	headerAllowedOrigin = "WebHook-Allowed-Origin"
	headerAllowedRate   = "WebHook-Allowed-Rate"
)

// Handshake is a response that proves to a provider that the endpoint accepts deliveries. It causes no event and needs no
// template. The server never fetches the confirmation addresses of unverified requests, because any client could then make
// it call any address.
type Handshake struct {
	// Name is its name in the delivery log.
	Name   string
	Header http.Header
	Body   []byte
}

// Markers of Event Grid's validation request.
const (
	eventGridHeader     = "aeg-event-type"
	eventGridValidation = "SubscriptionValidation"
	eventGridEventType  = "Microsoft.EventGrid.SubscriptionValidationEvent"
)

// maxEventGridHandshake bounds the body of a handshake of Event Grid, which is read without a credential. Real ones are below 4 kB.
const maxEventGridHandshake = 8 << 10

// ClaimsHandshake reports whether a request may be a handshake, by its header alone.
func (r *Request) ClaimsHandshake() bool {
	return r.Method == http.MethodOptions || r.Method == http.MethodPost && r.Length <= maxEventGridHandshake &&
		r.Get("content-encoding") == "" && strings.EqualFold(strings.TrimSpace(r.Get(eventGridHeader)), eventGridValidation)
}

// Handshake returns the response to a handshake; nil if the request is not one. The body must have been read.
func (r *Request) Handshake() *Handshake {
	switch {
	case r.Method == http.MethodOptions:
		return r.cloudEventsHandshake()
	case r.ClaimsHandshake() && !r.TooLarge:
		return r.eventGridHandshake()
	}
	return nil
}

// cloudEventsHandshake grants the sender's request (HTTP 1.1 web hooks for event delivery, 1.0).
func (r *Request) cloudEventsHandshake() *Handshake {
	origin := r.Get(strings.ToLower(headerRequestOrigin))
	if origin == "" {
		return nil
	}
	h := &Handshake{Name: "cloudevents", Header: http.Header{"Allow": {http.MethodPost}, headerAllowedOrigin: {origin}}}
	if rate := strings.TrimSpace(r.Get(strings.ToLower(headerRequestRate))); rate != "" {
		if n, err := strconv.ParseUint(rate, 10, 31); err != nil || n == 0 {
			rate = "*"
		}
		h.Header.Set(headerAllowedRate, rate)
	}
	return h
}

// eventGridHandshake echoes the code of a subscription's validation, which is a list of one event. It reads the first event only.
func (r *Request) eventGridHandshake() *Handshake {
	if len(r.Raw) > maxEventGridHandshake {
		return nil
	}
	var e struct {
		EventType string `json:"eventType"`
		Data      struct {
			ValidationCode string `json:"validationCode"`
		} `json:"data"`
	}
	events := json.NewDecoder(strings.NewReader(r.Body().Text))
	if token, err := events.Token(); err != nil || token != json.Delim('[') || events.Decode(&e) != nil {
		return nil
	}
	if !strings.EqualFold(e.EventType, eventGridEventType) || e.Data.ValidationCode == "" {
		return nil
	}
	answer, err := json.Marshal(map[string]string{"validationResponse": e.Data.ValidationCode})
	if err != nil {
		return nil
	}
	return &Handshake{Name: "event-grid", Header: http.Header{"Content-Type": {"application/json"}}, Body: answer}
}

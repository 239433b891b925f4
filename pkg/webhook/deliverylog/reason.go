package deliverylog

// The reasons for which a request caused no event: the values of WebhookDelivery.reason.
const (
	// ReasonMethod to ReasonUnavailable mark requests that ended before their sender was verified.
	ReasonMethod     = "method"
	ReasonAddress    = "address"
	ReasonRate       = "rate"
	ReasonCredential = "credential"
	ReasonRole       = "role"
	ReasonBody       = "body"
	ReasonSignature  = "signature"
	// ReasonUnavailable means that the server could not check the request.
	ReasonUnavailable = "unavailable"

	// ReasonOverload and later ones mark failures after the verification.
	// ReasonOverload means that the service had no memory left for the request.
	ReasonOverload = "overload"
	// ReasonFilter means that the filter failed.
	ReasonFilter   = "filter"
	ReasonTemplate = "template"
	ReasonEvent    = "event"
	// ReasonBroker means that the broker did not acknowledge the event.
	ReasonBroker = "broker"
	// ReasonFiltered means that the filter dropped the request. It is no failure.
	ReasonFiltered = "filtered"
	// ReasonHandshake means that the handshake of a verified provider failed.
	ReasonHandshake = "handshake"
)

// Reasons returns all reasons, in the order in which a request is processed.
func Reasons() []string {
	return []string{
		ReasonMethod, ReasonAddress, ReasonRate, ReasonCredential, ReasonRole, ReasonBody, ReasonSignature, ReasonUnavailable,
		ReasonOverload, ReasonHandshake, ReasonFilter, ReasonFiltered, ReasonTemplate, ReasonEvent, ReasonBroker,
	}
}

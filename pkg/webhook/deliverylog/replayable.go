package deliverylog

import (
	"net/http"
	"slices"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// NotReplayable returns why a delivery cannot be replayed; empty if it can. A replay skips verification. So it takes only
// requests that passed the verification, by their reason and not by their status: ORCH_HOOKS_STRICT_QUIET turns a 401 into a
// 400. A failure with an unknown reason, or without one, counts as not verified.
func NotReplayable(d *orchv1.WebhookDelivery) string {
	switch {
	case d.Handshake != nil || d.GetReason() == ReasonHandshake:
		return "A handshake causes no event."
	case d.ReplayOf != nil:
		return "The delivery is itself a replay: replay the original delivery."
	case !Verified(d):
		return "The request ended before its sender was verified."
	case d.GetBodyTruncated():
		return "The log holds only a part of the request's body."
	}
	return ""
}

// Verified reports whether the request passed every check of its sender.
func Verified(d *orchv1.WebhookDelivery) bool {
	switch d.GetReason() {
	case "":
		return d.GetStatus() < http.StatusBadRequest
	case ReasonFiltered:
		return true
	}
	return slices.Contains(VerifiedReasons(), d.GetReason())
}

// VerifiedReasons returns the reasons of failures after the verification.
func VerifiedReasons() []string {
	return []string{ReasonOverload, ReasonHandshake, ReasonFilter, ReasonTemplate, ReasonEvent, ReasonBroker}
}

// Unresolved reports whether a delivery is a failure that no replay has made good. Failed replays are not counted: the original is.
func Unresolved(d *orchv1.WebhookDelivery) bool {
	return d.GetStatus() >= http.StatusBadRequest && d.ReplayOf == nil && d.ReplayedEventId == nil
}

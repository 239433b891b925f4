// Package quota names what the operator bounds for each account, and reads the server's defaults.
package quota

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/orch-project/orch/pkg/rpc"
	"github.com/orch-project/orch/pkg/telemetry"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// Name is the name of a quota, which is also that of its field in AccountQuotas.
type Name string

// The quotas.
const (
	Webhooks        Name = "webhooks"
	Automations     Name = "automations"
	Deployments     Name = "deployments"
	Blocks          Name = "blocks"
	APIKeys         Name = "api_keys"
	EventsPerSecond Name = "events_per_second"
	StoredBytes     Name = "stored_bytes"
)

// Names lists the quotas in the order in which they are shown.
func Names() []Name {
	return []Name{Webhooks, Automations, Deployments, Blocks, APIKeys, EventsPerSecond, StoredBytes}
}

// maxEventsPerSecond is the largest quota that a setting takes.
const maxEventsPerSecond = 100_000

// Events is the setting of all services that accept events.
type Events struct {
	PerSecond int64 `env:"ORCH_QUOTA_EVENTS_PER_SECOND" envDefault:"0" desc:"The maximum number of events in a second of an account without a quota of its own, at most 100,000; 0 means no limit. All replicas of the gateway and of the hooks service count together."`
}

// Validate implements config.Validator.
func (e Events) Validate() error {
	if e.PerSecond < 0 || e.PerSecond > maxEventsPerSecond {
		return fmt.Errorf("ORCH_QUOTA_EVENTS_PER_SECOND: %d is not between 0 and %d", e.PerSecond, maxEventsPerSecond)
	}
	return nil
}

// Settings are the quotas of accounts without quotas of their own; 0 means no limit.
type Settings struct {
	Webhooks    int64 `env:"ORCH_QUOTA_WEBHOOKS" envDefault:"0" desc:"The maximum number of webhooks of an account without a quota of its own; 0 means no limit."`
	Automations int64 `env:"ORCH_QUOTA_AUTOMATIONS" envDefault:"0" desc:"The maximum number of automations of an account without a quota of its own; 0 means no limit."`
	Deployments int64 `env:"ORCH_QUOTA_DEPLOYMENTS" envDefault:"0" desc:"The maximum number of deployments of an account without a quota of its own; 0 means no limit."`
	Blocks      int64 `env:"ORCH_QUOTA_BLOCKS" envDefault:"0" desc:"The maximum number of block documents of an account without a quota of its own; 0 means no limit."`
	APIKeys     int64 `env:"ORCH_QUOTA_API_KEYS" envDefault:"0" desc:"The maximum number of API keys of the members and service accounts of an account without a quota of its own; 0 means no limit."`
	StoredBytes int64 `env:"ORCH_QUOTA_STORED_BYTES" envDefault:"0" desc:"The estimated size in bytes beyond which an account without a quota of its own creates no more documents; 0 means no limit."`
	Events      Events
}

// Validate implements config.Validator.
func (s Settings) Validate() error {
	if min(s.Webhooks, s.Automations, s.Deployments, s.Blocks, s.APIKeys, s.StoredBytes) < 0 {
		return errors.Join(errors.New("ORCH_QUOTA_WEBHOOKS, ORCH_QUOTA_AUTOMATIONS, ORCH_QUOTA_DEPLOYMENTS, ORCH_QUOTA_BLOCKS, ORCH_QUOTA_API_KEYS, ORCH_QUOTA_STORED_BYTES: must not be negative"),
			s.Events.Validate())
	}
	return s.Events.Validate()
}

// Of returns the limit of an account; 0 means none. own are the quotas that the operator has set for the account, or nil.
func (s Settings) Of(own *orchv1.AccountQuotas, name Name) int64 {
	if own == nil {
		own = &orchv1.AccountQuotas{}
	}
	var set *int64
	var limit int64
	switch name {
	case Webhooks:
		set, limit = own.Webhooks, s.Webhooks
	case Automations:
		set, limit = own.Automations, s.Automations
	case Deployments:
		set, limit = own.Deployments, s.Deployments
	case Blocks:
		set, limit = own.Blocks, s.Blocks
	case APIKeys:
		set, limit = own.ApiKeys, s.APIKeys
	case EventsPerSecond:
		set, limit = own.EventsPerSecond, s.Events.PerSecond
	case StoredBytes:
		set, limit = own.StoredBytes, s.StoredBytes
	}
	if set != nil {
		return *set
	}
	return limit
}

// Refused returns the response to a creation beyond a quota. It is a 403, which clients do not retry.
func Refused(name Name, limit int64, detail string) error {
	return rpc.Detail(http.StatusForbidden, fmt.Sprintf("The account's quota of %s is %d: %s", name, limit, detail))
}

// NewRefusals returns the counter of requests beyond a quota.
func NewRefusals(registry prometheus.Registerer) *prometheus.CounterVec {
	return telemetry.Register(registry, prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "orch_quota_refusals_total", Help: "Requests that were refused, and events of websockets that waited, because of an account's quota, by quota.",
	}, []string{"quota"}))
}

package hooks

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/orch-project/orch/pkg/admission"
	"github.com/orch-project/orch/pkg/broker"
	"github.com/orch-project/orch/pkg/clientaddr"
	"github.com/orch-project/orch/pkg/config"
	"github.com/orch-project/orch/pkg/quota"
	"github.com/orch-project/orch/pkg/safedial"
	"github.com/orch-project/orch/pkg/secrets"
	"github.com/orch-project/orch/pkg/telemetry"
	"github.com/orch-project/orch/pkg/tlsfiles"
	"github.com/orch-project/orch/pkg/vocabulary"
	"github.com/orch-project/orch/pkg/webhook/sns"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/hooks/internal/guard"
)

// Config are the service's settings. The tags are read by package config.
type Config struct {
	Listen         string                `env:"ORCH_HOOKS_LISTEN" envDefault:"127.0.0.1:4201" desc:"The address of webhooks."`
	InternalListen string                `env:"ORCH_HOOKS_INTERNAL_LISTEN" envDefault:"127.0.0.1:9401" desc:"The address of metrics, profiles and health; never expose it."`
	Vocabulary     vocabulary.Vocabulary `env:"ORCH_VOCABULARY" envDefault:"orch" desc:"The names that the server uses: orch, or prefect for existing Prefect clients."`

	Internal telemetry.InternalSettings

	Broker broker.Settings
	TLS    tlsfiles.Settings

	TrustedProxies []string `env:"ORCH_TRUSTED_PROXIES" desc:"Addresses or networks (CIDR) of proxies whose X-Forwarded headers the service trusts. A gateway in front is such a proxy."`
	// Secrets opens what webhooks verify signatures with.
	Secrets secrets.Keyring `env:"ORCH_SECRETS_KEY" secret:"true" desc:"The keys that encrypt secrets, equal to those of the orchestration service. A webhook whose secrets they cannot decrypt returns 503."`

	AccountRate int64    `env:"ORCH_HOOKS_ACCOUNT_RATE" envDefault:"0" desc:"The maximum number of webhook requests of an account per minute, over all of its webhooks; 0 means no limit. Accounts and webhooks can set lower limits."`
	AllowedIPs  []string `env:"ORCH_HOOKS_ALLOWED_IPS" desc:"Addresses or networks (CIDR) that may post to webhooks; empty allows all. Accounts and webhooks can restrict them further."`

	Quota quota.Events

	SNSHosts         []string `env:"ORCH_HOOKS_SNS_HOSTS" desc:"Hosts, with an optional port, whose certificates and confirmations are trusted like those of Amazon SNS: a private partition or an emulator."`
	OutboundNetworks string   `env:"ORCH_HOOKS_OUTBOUND_NETWORKS" desc:"Addresses or networks (CIDR) that are not public, to which the service may connect for hosts of Amazon SNS."`

	MaxBody         int64         `env:"ORCH_HOOKS_MAX_BODY" envDefault:"5242880" desc:"The maximum size of a webhook's request body in bytes; a larger body returns 413."`
	BodyMemory      int64         `env:"ORCH_HOOKS_BODY_MEMORY" envDefault:"0" desc:"The memory in bytes for bodies that are read, decompressed, parsed and rendered at once; an account gets half of it, and a request beyond it returns 503. 0 means 128 MiB, or 24 times ORCH_HOOKS_MAX_BODY if that is more."`
	TemplateTimeout time.Duration `env:"ORCH_HOOKS_TEMPLATE_TIMEOUT" envDefault:"1s" desc:"The maximum rendering time of a template."`
	AckTimeout      time.Duration `env:"ORCH_HOOKS_ACK_TIMEOUT" envDefault:"2s" desc:"The maximum wait for the broker's acknowledgement; after it a webhook returns 503."`
	UniformErrors   bool          `env:"ORCH_HOOKS_STRICT_QUIET" envDefault:"false" desc:"Return 400 instead of 401, 403, 404, 405 and 415, so that senders learn nothing."`
	DrainDelay      time.Duration `env:"ORCH_HOOKS_DRAIN_DELAY" envDefault:"0s" desc:"How long the server still accepts requests after readiness turns false, so that load balancers notice."`
}

const (
	// maxBody is the default of ORCH_HOOKS_MAX_BODY.
	maxBody = 5 << 20
	// minBodies is how many times the largest body the memory for bodies holds at least. The half of one account then suffices to
	// parse and render a body of that size.
	minBodies = 24
)

// Validate implements config.Validator.
func (c *Config) Validate() error {
	errs := []error{c.Broker.Validate(), c.TLS.Validate(), c.Quota.Validate()}
	if c.MaxBody < 0 {
		errs = append(errs, errors.New("ORCH_HOOKS_MAX_BODY: must not be negative"))
	}
	if c.BodyMemory != 0 && c.BodyMemory < minBodies*cmp.Or(c.MaxBody, maxBody) {
		errs = append(errs, fmt.Errorf("ORCH_HOOKS_BODY_MEMORY: must be 0 or at least %d times ORCH_HOOKS_MAX_BODY", minBodies))
	}
	if c.TemplateTimeout < 0 {
		errs = append(errs, errors.New("ORCH_HOOKS_TEMPLATE_TIMEOUT: must not be negative"))
	}
	if c.AckTimeout < 0 {
		errs = append(errs, errors.New("ORCH_HOOKS_ACK_TIMEOUT: must not be negative"))
	}
	if c.AccountRate < 0 || c.AccountRate > 1_000_000 {
		errs = append(errs, errors.New("ORCH_HOOKS_ACCOUNT_RATE: must be between 0 and 1000000"))
	}
	if _, err := clientaddr.ParseNetworks(c.AllowedIPs); err != nil {
		errs = append(errs, fmt.Errorf("ORCH_HOOKS_ALLOWED_IPS: %w", err))
	}
	if _, err := clientaddr.ParseNetworks(c.TrustedProxies); err != nil {
		errs = append(errs, fmt.Errorf("ORCH_TRUSTED_PROXIES: %w", err))
	}
	if err := sns.ParseHosts(c.SNSHosts); err != nil {
		errs = append(errs, fmt.Errorf("ORCH_HOOKS_SNS_HOSTS: %w", err))
	}
	if _, err := safedial.ParsePolicy(c.OutboundNetworks); err != nil {
		errs = append(errs, fmt.Errorf("ORCH_HOOKS_OUTBOUND_NETWORKS: %w", err))
	}
	return errors.Join(errs...)
}

// withDefaults fills in what settings made in code left out, or as 0.
func (c Config) withDefaults() Config {
	c.MaxBody = cmp.Or(c.MaxBody, maxBody)
	c.BodyMemory = c.Memory()
	if c.TemplateTimeout == 0 {
		c.TemplateTimeout = time.Second
	}
	if c.AckTimeout == 0 {
		c.AckTimeout = 2 * time.Second
	}
	return c
}

// Memory returns the memory in bytes for bodies.
func (c Config) Memory() int64 {
	return cmp.Or(c.BodyMemory, max(admission.DefaultMemory, minBodies*cmp.Or(c.MaxBody, maxBody)))
}

// accountRules are what the operator lets each account's webhooks take together.
func (c Config) accountRules() guard.Rules {
	rules := guard.Rules{AllowedIPs: c.AllowedIPs, EventsPerSecond: c.Quota.PerSecond}
	if c.AccountRate > 0 {
		rules.RateLimit = &orchv1.WebhookRateLimit{Requests: c.AccountRate, Seconds: 60}
	}
	return rules
}

var _ config.Validator = (*Config)(nil)

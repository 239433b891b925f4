package gateway

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/orch-project/orch/pkg/admission"
	"github.com/orch-project/orch/pkg/auth"
	"github.com/orch-project/orch/pkg/broker"
	"github.com/orch-project/orch/pkg/config"
	"github.com/orch-project/orch/pkg/quickstart"
	"github.com/orch-project/orch/pkg/quota"
	"github.com/orch-project/orch/pkg/telemetry"
	"github.com/orch-project/orch/pkg/tlsfiles"
	"github.com/orch-project/orch/pkg/vocabulary"
	"github.com/orch-project/orch/services/gateway/internal/address"
	"github.com/orch-project/orch/services/gateway/internal/authn"
)

// Config holds the gateway's settings. Package config reads the tags.
type Config struct {
	Listen         string                `env:"ORCH_GATEWAY_LISTEN" envDefault:"127.0.0.1:4200" desc:"The address of API, dashboard and webhooks."`
	Published      string                `env:"ORCH_GATEWAY_PUBLISHED" desc:"The host address that publishes a container's port, such as 127.0.0.1:4200. Without authentication it must be a loopback address."`
	InternalListen string                `env:"ORCH_GATEWAY_INTERNAL_LISTEN" envDefault:"127.0.0.1:9400" desc:"The address of metrics, profiles and health; never expose it."`
	Vocabulary     vocabulary.Vocabulary `env:"ORCH_VOCABULARY" envDefault:"orch" desc:"The names that the server uses: orch, or prefect for existing Prefect clients."`

	OrchestrationAddr string `env:"ORCH_ORCHESTRATION_ADDR" envDefault:"127.0.0.1:4202" desc:"The gRPC address of the orchestration service."`
	HooksAddr         string `env:"ORCH_HOOKS_ADDR" envDefault:"127.0.0.1:4201" desc:"The HTTP address of the hooks service."`

	Internal telemetry.InternalSettings

	Broker broker.Settings
	TLS    tlsfiles.Settings

	PublicURL      string   `env:"ORCH_PUBLIC_URL" desc:"The root of the server as clients see it, such as https://orch.example.com; without it, the server uses each request's Host header."`
	HooksURL       string   `env:"ORCH_HOOKS_URL" desc:"The root of webhook addresses, such as https://hooks.example.com/hooks; the default is /hooks below the public URL."`
	TrustedProxies []string `env:"ORCH_TRUSTED_PROXIES" desc:"Addresses or networks (CIDR) of proxies whose X-Forwarded headers the server trusts."`

	Auth         string   `env:"ORCH_AUTH" desc:"The authentication mode: none, basic (one user and password), or keys (API keys of users and service accounts). The default is basic if ORCH_AUTH_BASIC is set, else none."`
	AuthBasic    string   `env:"ORCH_AUTH_BASIC" secret:"true" desc:"The user:password that every request must carry; empty turns basic authentication off."`
	Insecure     bool     `env:"ORCH_INSECURE" envDefault:"false" desc:"Allow other machines to reach the server without authentication."`
	AllowedHosts []string `env:"ORCH_ALLOWED_HOSTS" desc:"Host names accepted without authentication, in addition to loopback and the configured URLs; * accepts all."`
	CORSOrigins  []string `env:"ORCH_CORS_ORIGINS" desc:"Origins of web pages that may use the API; * allows all, and needs authentication or ORCH_INSECURE."`

	BodyMemory int64 `env:"ORCH_GATEWAY_BODY_MEMORY" envDefault:"134217728" desc:"The memory in bytes for request bodies that are read and decoded at once; an account gets half of it, and a request beyond it returns 503."`

	Quota quota.Events

	MaxSockets     int `env:"ORCH_GATEWAY_MAX_SOCKETS" envDefault:"20000" desc:"The maximum number of open websockets; the server refuses further ones with 503."`
	AccountSockets int `env:"ORCH_GATEWAY_ACCOUNT_SOCKETS" envDefault:"0" desc:"The maximum number of open websockets of one account. 0 means half of ORCH_GATEWAY_MAX_SOCKETS with ORCH_AUTH=keys, else no such limit."`

	SlowRequest time.Duration `env:"ORCH_SLOW_REQUEST" envDefault:"1s" desc:"The duration above which a request is logged at level info."`
	DrainDelay  time.Duration `env:"ORCH_GATEWAY_DRAIN_DELAY" envDefault:"0s" desc:"How long the server still accepts requests after readiness turns false, so that load balancers notice."`
}

// minBodyMemory is the memory of which the half of one account suffices for the largest body.
const minBodyMemory = 64 << 20

// Validate implements config.Validator.
func (c *Config) Validate() error {
	errs := []error{c.Broker.Validate(), c.TLS.Validate(), c.Quota.Validate()}
	mode, err := authn.ParseMode(c.Auth, c.AuthBasic != "")
	if err != nil {
		errs = append(errs, fmt.Errorf("ORCH_AUTH: %w", err))
	}
	if c.AuthBasic != "" {
		if basic, err := auth.ParseBasic(c.AuthBasic); err != nil {
			errs = append(errs, fmt.Errorf("ORCH_AUTH_BASIC: %w", err))
		} else if basic.Guessable() && !c.Insecure && authn.CheckExposure(cmp.Or(c.Published, c.Listen)) != nil {
			errs = append(errs, errors.New("ORCH_AUTH_BASIC: other machines reach the server, and the password is short enough to be guessed: "+
				"use 16 characters or more, API keys, or allow it with --insecure"))
		}
	} else if mode == authn.None && !c.Insecure {
		errs = append(errs, authn.CheckExposure(cmp.Or(c.Published, c.Listen)))
	}
	if mode == authn.None && !c.Insecure && slices.Contains(c.CORSOrigins, "*") {
		errs = append(errs, errors.New("ORCH_CORS_ORIGINS: without authentication, * lets every web page read and write all data: "+
			"name the origins, or allow it with --insecure"))
	}
	if _, err := c.addresses(); err != nil {
		errs = append(errs, err)
	}
	switch {
	case c.MaxSockets == 0:
		c.MaxSockets = 20000 // Settings built in code may leave it zero.
	case c.MaxSockets < 0:
		errs = append(errs, errors.New("ORCH_GATEWAY_MAX_SOCKETS: must not be negative"))
	}
	if c.AccountSockets < 0 {
		errs = append(errs, errors.New("ORCH_GATEWAY_ACCOUNT_SOCKETS: must not be negative"))
	}
	switch {
	case c.BodyMemory == 0:
		c.BodyMemory = admission.DefaultMemory // Settings built in code may leave it zero.
	case c.BodyMemory < minBodyMemory:
		errs = append(errs, fmt.Errorf("ORCH_GATEWAY_BODY_MEMORY: must be at least %d", minBodyMemory))
	}
	switch {
	case c.SlowRequest == 0:
		c.SlowRequest = time.Second // Settings built in code may leave it zero.
	case c.SlowRequest < 0:
		errs = append(errs, errors.New("ORCH_SLOW_REQUEST: must not be negative"))
	}
	return errors.Join(errs...)
}

// accountSockets returns the maximum number of websockets of one account; 0 means no limit.
func (c *Config) accountSockets() int {
	if c.AccountSockets == 0 && c.mode() == authn.ByKey {
		return (c.MaxSockets + 1) / 2
	}
	return c.AccountSockets
}

// mode returns the authentication mode of validated settings.
func (c *Config) mode() authn.Mode {
	mode, _ := authn.ParseMode(c.Auth, c.AuthBasic != "")
	return mode
}

// Credential returns what the server requires of its clients.
func (c *Config) Credential() quickstart.Credential {
	return map[authn.Mode]quickstart.Credential{authn.Basic: quickstart.Password, authn.ByKey: quickstart.Key}[c.mode()]
}

func (c *Config) addresses() (*address.Resolver, error) {
	return address.New(address.Options{PublicURL: c.PublicURL, HooksURL: c.HooksURL, TrustedProxies: c.TrustedProxies})
}

var _ config.Validator = (*Config)(nil)

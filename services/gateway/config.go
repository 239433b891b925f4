package gateway

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/orch-project/orch/pkg/auth"
	"github.com/orch-project/orch/pkg/broker"
	"github.com/orch-project/orch/pkg/config"
	"github.com/orch-project/orch/pkg/vocabulary"
	"github.com/orch-project/orch/services/gateway/internal/address"
	"github.com/orch-project/orch/services/gateway/internal/authn"
)

// Config are the gateway's settings. The tags are read by package config.
type Config struct {
	Listen         string                `env:"ORCH_GATEWAY_LISTEN" envDefault:"127.0.0.1:4200" desc:"The address of API, dashboard and webhooks."`
	Published      string                `env:"ORCH_GATEWAY_PUBLISHED" desc:"Where a container's address is published on its host, such as 127.0.0.1:4200: without authentication that must be loopback, rather than the address it listens on."`
	InternalListen string                `env:"ORCH_GATEWAY_INTERNAL_LISTEN" envDefault:"127.0.0.1:9400" desc:"The address of metrics, profiles and health; never expose it."`
	Vocabulary     vocabulary.Vocabulary `env:"ORCH_VOCABULARY" envDefault:"orch" desc:"The server's choice of words; see the guide for existing clients."`

	OrchestrationAddr string `env:"ORCH_ORCHESTRATION_ADDR" envDefault:"127.0.0.1:4202" desc:"The gRPC address of the orchestration service."`
	HooksAddr         string `env:"ORCH_HOOKS_ADDR" envDefault:"127.0.0.1:4201" desc:"The HTTP address of the hooks service."`

	Broker broker.Settings

	PublicURL      string   `env:"ORCH_PUBLIC_URL" desc:"The root of the server as clients see it, such as https://orch.example.com; else each request's Host tells."`
	HooksURL       string   `env:"ORCH_HOOKS_URL" desc:"The root of webhook addresses, such as https://hooks.example.com/hooks; else /hooks below the public URL."`
	TrustedProxies []string `env:"ORCH_TRUSTED_PROXIES" desc:"Addresses or networks (CIDR) of proxies whose X-Forwarded headers are believed."`

	Auth         string   `env:"ORCH_AUTH" desc:"How the server learns who asks: none, basic (one user and password), or keys (API keys of users and service accounts); empty is basic where ORCH_AUTH_BASIC is set, else none."`
	AuthBasic    string   `env:"ORCH_AUTH_BASIC" secret:"true" desc:"The user:password that every request must carry; no authentication when empty."`
	Insecure     bool     `env:"ORCH_INSECURE" envDefault:"false" desc:"Allow an address that other machines reach without authentication."`
	AllowedHosts []string `env:"ORCH_ALLOWED_HOSTS" desc:"Host names that requests may name when there is no authentication, beside loopback and the configured URLs; * allows all."`
	CORSOrigins  []string `env:"ORCH_CORS_ORIGINS" desc:"Origins of web pages that may use the API; * allows all."`

	MaxSockets int `env:"ORCH_GATEWAY_MAX_SOCKETS" envDefault:"20000" desc:"How many websockets may be open at a time; further ones are answered with 503."`

	SlowRequest time.Duration `env:"ORCH_SLOW_REQUEST" envDefault:"1s" desc:"Requests that take longer are logged at info."`
	DrainDelay  time.Duration `env:"ORCH_GATEWAY_DRAIN_DELAY" envDefault:"0s" desc:"How long requests are still taken after readiness turned false, for load balancers to notice."`
}

// Validate implements config.Validator.
func (c *Config) Validate() error {
	errs := []error{c.Broker.Validate()}
	mode, err := authn.ParseMode(c.Auth, c.AuthBasic != "")
	if err != nil {
		errs = append(errs, fmt.Errorf("ORCH_AUTH: %w", err))
	}
	if c.AuthBasic != "" {
		if _, err := auth.ParseBasic(c.AuthBasic); err != nil {
			errs = append(errs, fmt.Errorf("ORCH_AUTH_BASIC: %w", err))
		}
	} else if mode == authn.None && !c.Insecure {
		errs = append(errs, authn.CheckExposure(cmp.Or(c.Published, c.Listen)))
	}
	if _, err := c.addresses(); err != nil {
		errs = append(errs, err)
	}
	switch {
	case c.MaxSockets == 0:
		c.MaxSockets = 20000 // Settings made in code need not name it.
	case c.MaxSockets < 0:
		errs = append(errs, errors.New("ORCH_GATEWAY_MAX_SOCKETS: must not be negative"))
	}
	switch {
	case c.SlowRequest == 0:
		c.SlowRequest = time.Second // Settings made in code need not name it.
	case c.SlowRequest < 0:
		errs = append(errs, errors.New("ORCH_SLOW_REQUEST: must not be negative"))
	}
	return errors.Join(errs...)
}

// mode is the authentication, of settings that were validated.
func (c *Config) mode() authn.Mode {
	mode, _ := authn.ParseMode(c.Auth, c.AuthBasic != "")
	return mode
}

func (c *Config) addresses() (*address.Resolver, error) {
	return address.New(address.Options{PublicURL: c.PublicURL, HooksURL: c.HooksURL, TrustedProxies: c.TrustedProxies})
}

var _ config.Validator = (*Config)(nil)

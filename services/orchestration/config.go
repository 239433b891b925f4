package orchestration

import (
	"errors"
	"fmt"
	"time"

	"github.com/orch-project/orch/pkg/broker"
	"github.com/orch-project/orch/pkg/config"
	"github.com/orch-project/orch/pkg/quota"
	"github.com/orch-project/orch/pkg/safedial"
	"github.com/orch-project/orch/pkg/secrets"
	"github.com/orch-project/orch/pkg/telemetry"
	"github.com/orch-project/orch/pkg/tlsfiles"
	"github.com/orch-project/orch/pkg/vocabulary"
	"github.com/orch-project/orch/services/orchestration/internal/automations/action"
	"github.com/orch-project/orch/services/orchestration/internal/egress"
)

// Config are the orchestration service's settings. The tags are read by package config.
type Config struct {
	Listen         string                `env:"ORCH_ORCHESTRATION_LISTEN" envDefault:"127.0.0.1:4202" desc:"The gRPC address, for the gateway; never expose it."`
	InternalListen string                `env:"ORCH_ORCHESTRATION_INTERNAL_LISTEN" envDefault:"127.0.0.1:9402" desc:"The address of metrics, profiles and health; never expose it."`
	Vocabulary     vocabulary.Vocabulary `env:"ORCH_VOCABULARY" envDefault:"orch" desc:"The names that the server uses: orch, or prefect for existing Prefect clients."`

	MongoDBURI      string `env:"ORCH_MONGODB_URI" secret:"true" envDefault:"mongodb://127.0.0.1:27018/?directConnection=true" desc:"The connection string of MongoDB or of the embedded store."`
	MongoDBDatabase string `env:"ORCH_MONGODB_DATABASE" envDefault:"orch" desc:"The name of the database."`

	Internal telemetry.InternalSettings

	Broker broker.Settings
	TLS    tlsfiles.Settings

	TLSClients []string `env:"ORCH_TLS_CLIENTS" envDefault:"gateway" desc:"The DNS names or common names of client certificates that may call the service, besides being signed by ORCH_TLS_CA. A caller acts for every account, so name only the gateway; empty accepts every certificate of the authority."`

	AllowPlaintext bool `env:"ORCH_ALLOW_PLAINTEXT" envDefault:"false" desc:"Accept gRPC calls without TLS on an address that other machines reach. Such calls are not authenticated, so only the network keeps others out."`

	Secrets secrets.Keyring `env:"ORCH_SECRETS_KEY" secret:"true" desc:"The keys that encrypt secrets in the store: 32 random bytes each, in base64, separated by commas or lines. The first key encrypts, and all of them decrypt. Required, except for orch server, which generates a key in the data directory."`

	EventsRetention time.Duration `env:"ORCH_EVENTS_RETENTION" envDefault:"168h" desc:"How long events are stored; 0 means forever."`
	LogsRetention   time.Duration `env:"ORCH_LOGS_RETENTION" envDefault:"0" desc:"How long logs are stored; 0 means as long as their flow run."`

	DeadLettersRetention time.Duration `env:"ORCH_DEAD_LETTERS_RETENTION" envDefault:"720h" desc:"How long effects that failed permanently are kept after their last failure; 0 keeps them until they are retried or discarded. Effects that block a document are kept."`

	Auth string `env:"ORCH_AUTH" desc:"The gateway's setting. With keys, the service refuses calls without a caller."`

	OwnerKeyFile string `env:"ORCH_OWNER_KEY_FILE" desc:"A file for the owner's first API key, which the first start with keys on a new database creates and only its owner reads. Without one no key is made: orchestration --owner-key prints one."`

	DeliveriesKept      int64         `env:"ORCH_DELIVERIES_KEPT" envDefault:"500" desc:"The maximum number of logged deliveries of a webhook."`
	DeliveriesRetention time.Duration `env:"ORCH_DELIVERIES_RETENTION" envDefault:"168h" desc:"How long deliveries are logged."`
	DestinationProxies  []string      `env:"ORCH_DESTINATIONS_PROXIES" secret:"true" desc:"Forward proxies that destinations may name by their origins, separated by commas: http://host:port or https://host:port, optionally with user:password@."`

	WebhookUniqueNames bool `env:"ORCH_WEBHOOK_UNIQUE_NAMES" envDefault:"false" desc:"Refuse with 409 a name that another webhook of the workspace has, for new webhooks and new names."`
	RetentionRate      int  `env:"ORCH_RETENTION_RATE" envDefault:"1000" desc:"The maximum number of documents per second that retention policies delete, without the dependents of runs; 0 means no limit."`

	Cancellations Cancellations

	WebhookHealth WebhookHealth

	Timers Timers

	Automations Automations

	Quotas quota.Settings
}

// Cancellations say what happens to runs that do not stop.
type Cancellations struct {
	Timeout      time.Duration `env:"ORCH_CANCELLING_TIMEOUT" envDefault:"5m" desc:"How long a run may stay in CANCELLING; it is then CANCELLED, and workers of its pool get the command to remove its infrastructure."`
	CleanupLease time.Duration `env:"ORCH_CLEANUP_LEASE" envDefault:"30s" desc:"How long a worker may take to remove the infrastructure of a run before it renews its lease; another worker then gets the job."`
}

// validate refuses times of which every job would be over at once.
func (c Cancellations) validate() error {
	if c != (Cancellations{}) && min(c.Timeout, c.CleanupLease) < time.Second { // All zero are the defaults.
		return errors.New("ORCH_CANCELLING_TIMEOUT, ORCH_CLEANUP_LEASE: must be at least 1s")
	}
	return nil
}

// Automations bound what automations do.
type Automations struct {
	FiringsPerMinute        int      `env:"ORCH_AUTOMATIONS_FIRINGS_PER_MINUTE" envDefault:"6000" desc:"The maximum number of firings of an automation per minute; further firings are dropped. 0 means no limit."`
	AccountFiringsPerMinute int      `env:"ORCH_AUTOMATIONS_ACCOUNT_FIRINGS_PER_MINUTE" envDefault:"60000" desc:"The maximum number of firings of all automations of an account per minute; further firings are dropped. 0 means no limit."`
	KeysPerAutomation       int      `env:"ORCH_AUTOMATIONS_KEYS" envDefault:"100000" desc:"The maximum number of for_each keys that an automation counts at a time; events of further keys are not counted. 0 means no limit."`
	SMTPURL                 string   `env:"ORCH_SMTP_URL" secret:"true" desc:"The SMTP server of email notifications: smtp://user:password@host:587 (STARTTLS where offered), smtp+starttls://host (STARTTLS or failure) or smtps://host. Without it such actions fail."`
	SMTPFrom                string   `env:"ORCH_SMTP_FROM" desc:"The sender's address of email notifications. Required with ORCH_SMTP_URL."`
	SMTPDomains             []string `env:"ORCH_SMTP_DOMAINS" desc:"Domains of addresses that every account may send email notifications to; * allows all. With ORCH_AUTH=keys, other addresses must be those of members of the account. Without keys and without this setting all are allowed."`
	SMTPPerHour             int      `env:"ORCH_SMTP_ACCOUNT_RECIPIENTS_PER_HOUR" envDefault:"1000" desc:"The maximum number of recipients of email notifications of an account in an hour, for each replica; further notifications fail. 0 means no limit."`
	AllowedNetworks         string   `env:"ORCH_AUTOMATIONS_ALLOWED_NETWORKS" desc:"Non-public networks and addresses that notifications and webhook calls may connect to, separated by commas; * allows all."`
	UIURL                   string   `env:"ORCH_UI_URL" desc:"The address of the dashboard, for links in notifications, such as https://orch.example.com. In orch server, the default is the public URL or the address that the server listens on."`
}

// Validate implements config.Validator.
func (c *Config) Validate() error {
	errs := []error{c.Broker.Validate(), c.TLS.Validate()}
	if c.Listen != "" && !c.TLS.Enabled() && !c.AllowPlaintext {
		if err := tlsfiles.CheckPlaintext(c.Listen); err != nil {
			errs = append(errs, fmt.Errorf("ORCH_ORCHESTRATION_LISTEN: %w: set ORCH_TLS_CERT, ORCH_TLS_KEY and ORCH_TLS_CA, or ORCH_ALLOW_PLAINTEXT=true", err))
		}
	}
	if c.MongoDBDatabase == "" {
		errs = append(errs, errors.New("ORCH_MONGODB_DATABASE: must not be empty"))
	}
	if c.EventsRetention < 0 {
		errs = append(errs, fmt.Errorf("ORCH_EVENTS_RETENTION: %s is negative", c.EventsRetention))
	}
	if c.LogsRetention < 0 {
		errs = append(errs, fmt.Errorf("ORCH_LOGS_RETENTION: %s is negative", c.LogsRetention))
	}
	if c.DeadLettersRetention < 0 {
		errs = append(errs, fmt.Errorf("ORCH_DEAD_LETTERS_RETENTION: %s is negative", c.DeadLettersRetention))
	}
	if c.RetentionRate < 0 {
		errs = append(errs, fmt.Errorf("ORCH_RETENTION_RATE: %d is negative", c.RetentionRate))
	}
	errs = append(errs, c.Timers.validate(), c.WebhookHealth.validate(), c.Cancellations.validate(), c.Quotas.Validate())
	for _, limit := range []struct {
		name  string
		value int
	}{
		{"ORCH_AUTOMATIONS_FIRINGS_PER_MINUTE", c.Automations.FiringsPerMinute},
		{"ORCH_AUTOMATIONS_ACCOUNT_FIRINGS_PER_MINUTE", c.Automations.AccountFiringsPerMinute},
		{"ORCH_AUTOMATIONS_KEYS", c.Automations.KeysPerAutomation},
		{"ORCH_SMTP_ACCOUNT_RECIPIENTS_PER_HOUR", c.Automations.SMTPPerHour},
	} {
		if limit.value < 0 {
			errs = append(errs, fmt.Errorf("%s: must not be negative", limit.name))
		}
	}
	if _, err := action.ParseMailer(c.Automations.SMTPURL, c.Automations.SMTPFrom); err != nil {
		errs = append(errs, fmt.Errorf("ORCH_SMTP_URL, ORCH_SMTP_FROM: %w", err))
	}
	if _, err := safedial.ParsePolicy(c.Automations.AllowedNetworks); err != nil {
		errs = append(errs, fmt.Errorf("ORCH_AUTOMATIONS_ALLOWED_NETWORKS: %w", err))
	}
	if _, err := egress.ParseProxies(c.DestinationProxies); err != nil {
		errs = append(errs, fmt.Errorf("ORCH_DESTINATIONS_PROXIES: %w", err))
	}
	if c.DeliveriesKept < 0 || c.DeliveriesRetention < 0 {
		errs = append(errs, errors.New("ORCH_DELIVERIES_KEPT, ORCH_DELIVERIES_RETENTION: must not be negative"))
	}
	return errors.Join(errs...)
}

var _ config.Validator = (*Config)(nil)

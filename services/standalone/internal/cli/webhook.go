package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/orch-project/orch/services/standalone/internal/remote"
)

// webhookSummary holds the fields that the commands read; --output json prints complete records.
type webhookSummary struct {
	ID          string  `json:"id"`
	Name        string  `json:"name"`
	Description string  `json:"description"`
	Template    string  `json:"template"`
	Filter      *string `json:"filter"`
	Enabled     bool    `json:"enabled"`
	URL         string  `json:"url"`

	Verification   json.RawMessage `json:"verification"`
	Undefined      string          `json:"undefined"`
	ServiceAccount *string         `json:"service_account_id"`

	Health *webhookHealth `json:"health"`
}

// webhookHealth is what the requests of a webhook show about it.
type webhookHealth struct {
	Status       string     `json:"status"`
	Since        *time.Time `json:"since"`
	LastDelivery *time.Time `json:"last_delivery"`
}

var webhookHead = []string{"ID", "NAME", "ENABLED", "PROTECTION", "HEALTH", "LAST DELIVERY", "URL"}

func webhookRow(w webhookSummary) []string {
	health, last := "", ""
	if w.Health != nil {
		health = w.Health.Status
		if w.Health.LastDelivery != nil {
			last = w.Health.LastDelivery.Format(time.RFC3339)
		}
	}
	return []string{w.ID, w.Name, strconv.FormatBool(w.Enabled), w.protection(), health, last, w.URL}
}

// protection is what requests must carry besides the secret URL.
func (w webhookSummary) protection() string {
	var parts []string
	if w.ServiceAccount != nil {
		parts = append(parts, "key")
	}
	if w.verified() {
		parts = append(parts, "signature")
	}
	if parts == nil {
		return "none"
	}
	return strings.Join(parts, ", ")
}

// verified reports whether requests must be signed.
func (w webhookSummary) verified() bool {
	return len(w.Verification) > 0 && string(w.Verification) != "null"
}

func webhookCommand(version string) *cobra.Command {
	return remoteCommand(version, &cobra.Command{
		Use: "webhook", Aliases: []string{"webhooks"}, Short: "Manage webhooks, test them, and inspect their deliveries",
		Long: `Manage webhooks, test them, and inspect their deliveries. Commands accept a webhook's id or its name.`,
	},
		webhookCreateCommand, webhookPresetsCommand, webhookApplyCommand, webhookExportCommand, webhookListCommand, webhookInspectCommand, webhookUpdateCommand, webhookToggleCommand, webhookEnableCommand, webhookDisableCommand,
		webhookRotateCommand, webhookDeleteCommand, webhookTestCommand, webhookSampleCommand, webhookDeliveriesCommand, webhookDeleteDeliveriesCommand, webhookIssuesCommand, webhookReplayCommand,
		webhookTailCommand, webhookTraceCommand)
}

// webhookOf returns the server and the path of the webhook that an argument identifies.
func (c *connection) webhookOf(ctx context.Context, argument string) (*remote.Server, string, error) {
	s, err := c.server()
	if err != nil {
		return nil, "", err
	}
	id, err := find(ctx, s, s.InWorkspace("/webhooks"), "webhooks", argument)
	if err != nil {
		return nil, "", fmt.Errorf("find the webhook: %w", err)
	}
	return s, s.InWorkspace("/webhooks/" + id), nil
}

// schemes are the signature schemes.
var schemes = []string{
	"github", "gitlab", "stripe", "slack", "standard-webhooks", "shopify", "pagerduty", "twilio", "sns", "token", "basic",
	"box", "calendly", "cloudflare-stream", "linear", "mailgun", "sendgrid", "hmac",
}

// webhookFlags are the fields of a webhook that create and update set.
type webhookFlags struct {
	cmd                    *cobra.Command
	template, secret       func() (string, bool, error)
	filter                 func() (string, bool, error)
	filterError            string
	verifyToken            func() (string, bool, error)
	description, account   string
	scheme, deduplication  string
	header, prefix         string
	strict                 bool
	methods                []string
	allow, handshakes      []string
	topics                 []string
	rate                   string
	burst                  int
	maxSilence             time.Duration
	response               *responseFlags
	noAccount, noSignature bool
}

func newWebhookFlags(cmd *cobra.Command) *webhookFlags {
	f := &webhookFlags{cmd: cmd}
	f.template = textFlag(cmd, "template", "t", "the Jinja2 template; it renders the JSON of an event")
	f.filter = textFlag(cmd, "filter", "", "the Jinja2 expression that chooses the requests that cause an event, such as 'body.action == \"opened\"'; an empty one chooses all")
	f.secret = textFlag(cmd, "secret", "", "the secret that requests are signed with, blanks included; two lines are two secrets, the newest first")
	f.response = newResponseFlags(cmd)
	f.verifyToken = textFlag(cmd, "verify-token", "", "the token that the handshake of Meta presents")
	flags := cmd.Flags()
	flags.StringVarP(&f.description, "description", "d", "", "the purpose of the webhook")
	flags.StringVar(&f.account, "service-account", "", "the service account whose key requests must carry, by name or id")
	flags.StringVar(&f.scheme, "scheme", "", "the signature scheme of requests: "+strings.Join(schemes, ", "))
	flags.StringVar(&f.header, "header", "", "the header with the signature or the token, of the schemes hmac and token")
	flags.StringVar(&f.prefix, "prefix", "", "what precedes the signature or the token in its header, such as \"Bearer \"")
	flags.StringSliceVar(&f.topics, "topic-arn", nil, "a topic of Amazon SNS whose messages are accepted, of the scheme sns; several may be given")
	flags.StringVar(&f.deduplication, "deduplicate", "", "what identifies a duplicate delivery: none, delivery_id or content")
	flags.StringSliceVar(&f.allow, "allow-ip", nil, "an address or network that may post; several may be given")
	flags.StringSliceVar(&f.handshakes, "handshake", nil, "a handshake to respond to: slack, sns, meta, okta or head; several may be given")
	flags.BoolVar(&f.strict, "strict", false, "treat a missing value as a template error")
	flags.StringVar(&f.filterError, "filter-error", "", "what a failing filter does with its request: fail (400) or filtered (204)")
	flags.StringSliceVar(&f.methods, "method", nil, "a method to accept, such as POST; several may be given; all without it")
	spanVar(flags, &f.maxSilence, "max-silence", 0, "report the webhook as silent after this time without a request, such as 25h; 0 means never")
	flags.StringVar(&f.rate, "rate", "", "the rate limit, such as 100/60s; 0 means none")
	flags.IntVar(&f.burst, "burst", 0, "how many requests the rate limit allows at once; by default those of --rate")
	_ = cmd.RegisterFlagCompletionFunc("filter-error", cobra.FixedCompletions([]string{"fail", "filtered"}, cobra.ShellCompDirectiveNoFileComp))
	_ = cmd.RegisterFlagCompletionFunc("scheme", cobra.FixedCompletions(schemes, cobra.ShellCompDirectiveNoFileComp))
	return f
}

// body returns the request body for the given flags. They override the fields of a preset, which may be nil.
func (f *webhookFlags) body(ctx context.Context, s *remote.Server, preset map[string]any) (map[string]any, error) {
	body := maps.Clone(preset)
	if body == nil {
		body = map[string]any{}
	}
	text, given, err := f.template()
	if err != nil {
		return nil, err
	}
	if given {
		body["template"] = text
	}
	if text, given, err = f.filter(); err != nil {
		return nil, err
	} else if given {
		body["filter"] = nil
		if strings.TrimSpace(text) != "" {
			body["filter"] = text
		}
	}
	changed := f.cmd.Flags().Changed
	if changed("filter-error") {
		body["filter_error"] = f.filterError
	}
	if changed("description") {
		body["description"] = f.description
	}
	if changed("service-account") {
		in, err := account(ctx, s)
		if err != nil {
			return nil, err
		}
		if body["service_account_id"], err = find(ctx, s, "/accounts/"+in+"/bots", "service_accounts", f.account); err != nil {
			return nil, fmt.Errorf("find the service account: %w", err)
		}
	}
	if f.noAccount {
		body["service_account_id"] = nil
	}
	if err := f.signature(body); err != nil {
		return nil, err
	}
	if changed("deduplicate") {
		body["deduplication"] = f.deduplication
	}
	if changed("allow-ip") {
		body["allowed_ips"] = f.allow
	}
	if changed("strict") {
		body["undefined"] = map[bool]string{true: "strict", false: "lenient"}[f.strict]
	}
	if changed("method") {
		body["methods"] = upper(f.methods)
	}
	if changed("handshake") {
		body["handshakes"] = f.handshakes
	}
	if text, given, err = f.verifyToken(); err != nil {
		return nil, err
	} else if given {
		body["verify_token"] = strings.TrimRight(text, "\r\n")
	}
	if changed("max-silence") {
		body["max_silence"] = nil
		if f.maxSilence != 0 {
			body["max_silence"] = int64(f.maxSilence / time.Second)
		}
	}
	switch {
	case changed("rate"):
		if body["rate_limit"], err = parseRate(f.rate, f.burst); err != nil {
			return nil, err
		}
	case changed("burst"):
		return nil, fmt.Errorf("%w: --burst needs --rate", errArgument)
	}
	return body, f.response.set(body)
}

func (f *webhookFlags) signature(body map[string]any) error {
	secret, given, err := f.secret()
	if err != nil {
		return err
	}
	switch {
	case f.noSignature:
		body["verification"] = nil
	case f.scheme != "":
		body["verification"] = map[string]any{"scheme": f.scheme}
	}
	verification, signed := body["verification"].(map[string]any)
	for _, flag := range []struct {
		name, field string
		value       any
		given       bool
	}{
		{"secret", "secrets", secretLines(secret), given},
		{"header", "header", f.header, f.cmd.Flags().Changed("header")},
		{"prefix", "prefix", f.prefix, f.cmd.Flags().Changed("prefix")},
		{"topic-arn", "topic_arns", f.topics, f.cmd.Flags().Changed("topic-arn")},
	} {
		switch {
		case flag.given && !signed:
			return fmt.Errorf("%w: --%s needs --scheme", errArgument, flag.name)
		case flag.given:
			verification[flag.field] = flag.value
		}
	}
	return nil
}

// upper returns texts in upper case, without empty ones.
func upper(texts []string) []string {
	out := []string{}
	for _, text := range texts {
		if text = strings.ToUpper(strings.TrimSpace(text)); text != "" {
			out = append(out, text)
		}
	}
	return out
}

// secretLines returns the secrets of a text, one a line. Blanks belong to a secret; empty lines do not count.
func secretLines(text string) []string {
	var secrets []string
	for line := range strings.Lines(text) {
		if line = strings.TrimRight(line, "\r\n"); line != "" {
			secrets = append(secrets, line)
		}
	}
	return secrets
}

// parseRate reads requests per span, such as 100/60s, with a burst unless it is 0. Zero requests mean no limit: nil.
func parseRate(text string, burst int) (any, error) {
	if text == "0" && burst == 0 {
		return nil, nil //nolint:nilnil // The JSON null that lifts the limit.
	}
	count, span, ok := strings.Cut(text, "/")
	requests, err := strconv.Atoi(count)
	if !ok {
		span = "60s"
	}
	every, spanErr := time.ParseDuration(span)
	if err != nil || spanErr != nil || requests < 1 || every < time.Second {
		return nil, fmt.Errorf("%w: --rate is like 100/60s, not %q", errArgument, text)
	}
	limit := map[string]any{"requests": requests, "seconds": int64(every / time.Second)}
	if burst != 0 {
		limit["burst"] = burst
	}
	return limit, nil
}

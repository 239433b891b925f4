package preset

import "net/http"

// definition is a preset without its template and its sample.
type definition struct {
	name, title string
	// description says what to do on the provider's side.
	description string
	// documentation is the provider's page.
	documentation string
	// needs names the secret in the provider's words; empty if there is none.
	needs         string
	verification  *verification
	deduplication string
	handshakes    []string
	// methods are those that the provider uses; empty for all.
	methods []string
	// like is the name of the preset whose template and sample this one shares; empty for its own.
	like string
}

// verification has the JSON form of a webhook's verification, without its secrets.
type verification struct {
	Scheme    string `json:"scheme"`
	Header    string `json:"header,omitempty"`
	Prefix    string `json:"prefix,omitempty"`
	Digest    string `json:"digest,omitempty"`
	Tolerance int    `json:"tolerance,omitempty"` // In seconds; 0 means the default.
}

// bearer verifies a static token in the Authorization header.
var bearer = &verification{Scheme: "token", Header: "Authorization", Prefix: "Bearer "}

// hub is the signature that Atlassian, Snyk and others send. GitHub sends it too, beside a second one with a header of its own.
var hub = &verification{Scheme: "hmac", Header: "X-Hub-Signature", Prefix: "sha256="}

// post are the methods of providers that only post. Other methods, such as the GET of a link preview, are then refused.
var post = []string{http.MethodPost}

var definitions = []definition{
	{
		name: "github", title: "GitHub",
		description:   "Add the URL as a webhook of a repository or an organization, with content type application/json and the same secret.",
		documentation: "https://docs.github.com/en/webhooks/using-webhooks/validating-webhook-deliveries",
		needs:         "the webhook's Secret, a text of your choice",
		verification:  &verification{Scheme: "github"},
		methods:       post,
	},
	{
		name: "gitlab", title: "GitLab",
		description:   "Add the URL as a webhook of a project or a group, with the same secret token.",
		documentation: "https://docs.gitlab.com/user/project/integrations/webhooks/",
		needs:         "the webhook's Secret token, a text of your choice",
		verification:  &verification{Scheme: "gitlab"},
		methods:       post,
	},
	{
		name: "gitlab-signed", title: "GitLab, signed", like: "gitlab",
		description:   "Add the URL as a webhook of a project or a group, and generate its signing token. GitLab shows the token once.",
		documentation: "https://docs.gitlab.com/user/project/integrations/webhooks/",
		needs:         "the webhook's Signing token, whsec_…",
		verification:  &verification{Scheme: "standard-webhooks"},
		methods:       post,
	},
	{
		name: "stripe", title: "Stripe",
		description:   "Add the URL as an event destination, and copy its signing secret.",
		documentation: "https://docs.stripe.com/webhooks",
		needs:         "the destination's signing secret, whsec_…",
		verification:  &verification{Scheme: "stripe"},
		methods:       post,
	},
	{
		name: "slack", title: "Slack",
		description:   "Copy the app's signing secret first, then enter the URL under Event Subscriptions; the server answers the challenge.",
		documentation: "https://docs.slack.dev/authentication/verifying-requests-from-slack/",
		needs:         "the app's Signing Secret",
		verification:  &verification{Scheme: "slack"},
		handshakes:    []string{"slack"},
		methods:       post,
	},
	{
		name: "shopify", title: "Shopify",
		description:   "Subscribe to a topic with the URL, in format JSON.",
		documentation: "https://shopify.dev/docs/apps/build/webhooks/subscribe/https",
		needs:         "the app's client secret, or the one that the store's notification settings show",
		verification:  &verification{Scheme: "shopify"},
		methods:       post,
	},
	{
		name: "twilio", title: "Twilio",
		description:   "Enter the URL as the webhook of a number, a service or a status callback. The server must see the host that Twilio calls.",
		documentation: "https://www.twilio.com/docs/usage/webhooks/webhooks-security",
		needs:         "the account's Auth Token",
		verification:  &verification{Scheme: "twilio"},
		methods:       []string{http.MethodGet, http.MethodPost},
	},
	{
		name: "pagerduty", title: "PagerDuty",
		description:   "Add a generic webhook (v3) with the URL, and copy the secret that PagerDuty shows once.",
		documentation: "https://developer.pagerduty.com/docs/verifying-webhook-signatures",
		needs:         "the subscription's signing secret",
		verification:  &verification{Scheme: "pagerduty"},
		methods:       post,
	},
	{
		name: "alertmanager", title: "Prometheus Alertmanager",
		description:   "Add the URL as a webhook_config, with the secret as http_config.authorization.credentials.",
		documentation: "https://prometheus.io/docs/alerting/latest/configuration/#webhook_config",
		needs:         "the bearer token, a text of your choice",
		verification:  bearer,
		deduplication: "none", // A notification has no id, and Alertmanager sends it again on purpose.
		methods:       post,
	},
	{
		name: "cloudevents", title: "CloudEvents",
		description: "Use the URL as the HTTP target of the event source, in binary or structured mode. " +
			"Protect it with a service account's key, as the event source can send a bearer token.",
		documentation: "https://github.com/cloudevents/spec/blob/v1.0.2/cloudevents/http-webhook.md",
		methods:       post,
	},
	{
		name: "eventgrid", title: "Azure Event Grid",
		description: "Add a web hook subscription in the Event Grid schema with the URL, without batches. " +
			"Set the delivery property Authorization to \"Bearer\", a space and the secret.",
		documentation: "https://learn.microsoft.com/en-us/azure/event-grid/handler-webhooks",
		needs:         "the bearer token of the delivery property, a text of your choice",
		verification:  bearer,
		methods:       post,
	},
	{
		name: "sns", title: "Amazon SNS",
		description: "Subscribe the URL to a topic over HTTPS, without raw message delivery. The server confirms the subscription. " +
			"List the topic, or the id of its account, in topic_arns, because any topic's messages are signed by Amazon SNS.",
		documentation: "https://docs.aws.amazon.com/sns/latest/dg/sns-verify-signature-of-message.html",
		verification:  &verification{Scheme: "sns"},
		handshakes:    []string{"sns"},
		methods:       post,
	},
	{
		name: "bitbucket", title: "Bitbucket",
		description:   "Add the URL as a webhook of a repository or a workspace, in Bitbucket Cloud or Data Center, with the same secret.",
		documentation: "https://support.atlassian.com/bitbucket-cloud/docs/manage-webhooks/",
		needs:         "the webhook's Secret, a text of your choice",
		verification:  hub,
		methods:       post,
	},
	{
		name: "jira", title: "Jira",
		description:   "Add the URL as a WebHook in the system settings, with the same secret.",
		documentation: "https://developer.atlassian.com/cloud/jira/platform/webhooks/",
		needs:         "the webhook's Secret, a text of your choice",
		verification:  hub,
		methods:       post,
	},
	{
		name: "linear", title: "Linear",
		description:   "Add the URL as a webhook in the API settings, and copy its signing secret.",
		documentation: "https://linear.app/developers/webhooks",
		needs:         "the webhook's signing secret, lin_wh_…",
		verification:  &verification{Scheme: "linear", Tolerance: 60},
		methods:       post,
	},
	{
		name: "azure-devops", title: "Azure DevOps",
		description:   "Add a service hook of type Web Hooks with the URL and a basic authentication user name and password.",
		documentation: "https://learn.microsoft.com/en-us/azure/devops/service-hooks/services/webhooks",
		needs:         "user name and password of the service hook, with a colon between them",
		verification:  &verification{Scheme: "basic"},
		deduplication: "none", // Nothing that a scheme names identifies a delivery.
		methods:       post,
	},
	{
		name: "docker-hub", title: "Docker Hub",
		description:   "Add the URL as a webhook of a repository. Docker Hub neither signs nor authenticates: whoever knows the URL can post.",
		documentation: "https://docs.docker.com/docker-hub/repos/manage/webhooks/",
		methods:       post,
	},
	{
		name: "snyk", title: "Snyk",
		description:   "Create a webhook with the URL and the same secret by the API of Snyk, which then sends a ping.",
		documentation: "https://docs.snyk.io/snyk-api/using-specific-snyk-apis/webhooks-apis/validation-and-versioning-of-payloads",
		needs:         "the webhook's secret, a text of your choice",
		verification:  hub,
		methods:       post,
	},
	{
		name: "sentry", title: "Sentry",
		description:   "Create an internal integration with the URL as its webhook URL, and copy its client secret.",
		documentation: "https://docs.sentry.io/organization/integrations/integration-platform/webhooks/",
		needs:         "the integration's Client Secret",
		verification:  &verification{Scheme: "hmac", Header: "Sentry-Hook-Signature"},
		methods:       post,
	},
	{
		name: "datadog", title: "Datadog",
		description: "Add the URL to the Webhooks integration, with the custom header " +
			"{\"Authorization\": \"Bearer SECRET\"} and the secret in place of SECRET.",
		documentation: "https://docs.datadoghq.com/integrations/webhooks/",
		needs:         "the bearer token of the custom header, a text of your choice",
		verification:  bearer,
		deduplication: "none", // A monitor sends its alert again on purpose.
		methods:       post,
	},
	{
		name: "grafana", title: "Grafana Alerting",
		description:   "Add a contact point of type Webhook with the URL, and the same secret below HMAC signature, without a timestamp header.",
		documentation: "https://grafana.com/docs/grafana/latest/alerting/configure-notifications/manage-contact-points/integrations/webhook-notifier/",
		needs:         "the Secret of the HMAC signature, a text of your choice",
		verification:  &verification{Scheme: "hmac", Header: "X-Grafana-Alerting-Signature"},
		deduplication: "none", // Grafana sends a notification again on purpose.
		methods:       []string{http.MethodPost, http.MethodPut},
	},
	{
		name: "cloudflare", title: "Cloudflare notifications",
		description:   "Add the URL as a webhook destination of notifications, with the same secret.",
		documentation: "https://developers.cloudflare.com/notifications/get-started/configure-webhooks/",
		needs:         "the destination's Secret, a text of your choice",
		verification:  &verification{Scheme: "token", Header: "cf-webhook-auth"},
		deduplication: "none", // A notification has no id of its delivery.
		methods:       post,
	},
	{
		name: "cloudflare-stream", title: "Cloudflare Stream",
		description:   "Subscribe the URL to the account's videos by the API of Stream, whose response has the secret.",
		documentation: "https://developers.cloudflare.com/stream/manage-video-library/using-webhooks/",
		needs:         "the secret in the response of the subscription",
		verification:  &verification{Scheme: "cloudflare-stream"},
		methods:       post,
	},
	{
		name: "box", title: "Box",
		description:   "Generate the signature keys of the app, then add a webhook (V2) with the URL. The secrets are the primary and the secondary key.",
		documentation: "https://developer.box.com/guides/webhooks/v2/signatures-v2/",
		needs:         "the app's primary signature key, and the secondary one in a second line",
		verification:  &verification{Scheme: "box", Tolerance: 600},
		methods:       post,
	},
	{
		name: "calendly", title: "Calendly",
		description:   "Create a webhook subscription with the URL and the same signing key by the API of Calendly.",
		documentation: "https://developer.calendly.com/api-docs/overview/webhooks/webhook-signatures",
		needs:         "the subscription's signing key",
		verification:  &verification{Scheme: "calendly", Tolerance: 180},
		methods:       post,
	},
	{
		name: "intercom", title: "Intercom",
		description:   "Enter the URL as the app's webhook endpoint, and subscribe to topics. The server answers the HEAD request of the check.",
		documentation: "https://developers.intercom.com/docs/webhooks",
		needs:         "the app's client secret",
		verification:  &verification{Scheme: "hmac", Header: "X-Hub-Signature", Prefix: "sha1=", Digest: "sha1"},
		handshakes:    []string{"head"},
		methods:       post,
	},
	{
		name: "mailgun", title: "Mailgun",
		description:   "Add the URL as a webhook of a domain or the account, or as the action of a route.",
		documentation: "https://documentation.mailgun.com/docs/mailgun/user-manual/webhooks/securing-webhooks",
		needs:         "the account's HTTP webhook signing key",
		verification:  &verification{Scheme: "mailgun"},
		methods:       post,
	},
	{
		name: "sendgrid", title: "Twilio SendGrid",
		description:   "Add the URL as an event webhook, enable its signature verification, and copy the verification key.",
		documentation: "https://www.twilio.com/docs/sendgrid/for-developers/tracking-events/getting-started-event-webhook-security-features",
		needs:         "the Verification Key, a public key in base64",
		verification:  &verification{Scheme: "sendgrid"},
		methods:       post,
	},
	{
		name: "okta", title: "Okta event hooks",
		description: "Create an event hook with the URL, the authentication field Authorization and the same authentication secret. " +
			"The server answers the verification.",
		documentation: "https://developer.okta.com/docs/concepts/event-hooks/",
		needs:         "the authentication secret, a text of your choice",
		verification:  &verification{Scheme: "token", Header: "Authorization"},
		deduplication: "none", // Nothing that a scheme names identifies a delivery.
		handshakes:    []string{"okta"},
		methods:       post,
	},
	{
		name: "standard", title: "Standard Webhooks",
		description:   "Add the URL as an endpoint of a sender that follows Standard Webhooks, such as one that uses Svix, and copy the endpoint's secret.",
		documentation: "https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md",
		needs:         "the endpoint's secret, whsec_…",
		verification:  &verification{Scheme: "standard-webhooks"},
		methods:       post,
	},
	{
		name: "generic", title: "Any sender",
		description:   "Post to the URL with any method and body. Whoever knows the URL can post.",
		documentation: "https://www.rfc-editor.org/rfc/rfc9110",
	},
}

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
	Scheme string `json:"scheme"`
	Header string `json:"header,omitempty"`
	Prefix string `json:"prefix,omitempty"`
}

// bearer verifies a static token in the Authorization header.
var bearer = &verification{Scheme: "token", Header: "Authorization", Prefix: "Bearer "}

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

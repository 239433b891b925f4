package cli

import "github.com/spf13/cobra"

var destinationResource = &resource{
	noun: "destination", plural: "destinations", argument: "DESTINATION", activity: "enabled",
	columns: append([]column{
		fieldColumn("NAME", "name"), fieldColumn("URL", "url"), fieldColumn("ENABLED", "enabled"), fieldColumn("STATUS", "health.status"),
		fieldColumn("CAUSE", "health.cause"),
	}, identityColumns()...),
	filters: []filter{{"name", "destinations whose name contains a text", nameLike("destinations")}},
	fields: []field{
		{name: "name", flag: "name", usage: "its new name", on: updateOnly},
		{name: "url", flag: "url", usage: "the address that receives POST requests", required: true},
		{name: "subscriptions", flag: "subscriptions", usage: `the events, as a JSON list of objects with "events", "filter" and "template"`, kind: jsonField},
		{name: "headers", flag: "header", usage: "a header of each delivery, as NAME=VALUE", kind: objectField},
		{name: "secret", flag: "secret", usage: "the secret of signatures by Standard Webhooks: whsec_ and base64"},
		{name: "ordered_by", flag: "ordered-by", usage: "a label of events; deliveries with the same values keep their order", kind: listField},
		{name: "rate_limit", flag: "rate-limit", usage: "the maximum number of deliveries in a second", kind: numberField},
		{name: "retry_for", flag: "retry-for", usage: "the seconds from the first attempt of a delivery until its last one", kind: numberField},
		{name: "oauth", flag: "oauth", usage: `the OAuth 2 client, as a JSON object with "token_url", "client_id", "client_secret" and "scopes"`, kind: jsonField},
		{name: "tls", flag: "tls", usage: `the certificates, as a JSON object with "certificate", "key" and "ca" as PEM`, kind: jsonField},
		{name: "proxy", flag: "proxy", usage: "the origin of a forward proxy that the operator permits"},
		{name: "description", flag: "description", usage: "an explanation for people"},
	},
	list: listIn("/v2/destinations/filter"), path: foundIn("/v2/destinations", "destinations"), create: createIn("/v2/destinations"),
	warning:    "with its deliveries",
	fileFields: []string{"name", "description", "enabled", "url", "subscriptions", "ordered_by", "rate_limit", "retry_for"},
}

func destinationCommand(version string) *cobra.Command {
	r := destinationResource
	return remoteCommand(version, &cobra.Command{
		Use: "destination", Aliases: []string{"destinations"}, Short: "Manage destinations: addresses that receive events",
		Long: `Manage destinations: addresses of other systems that receive events. Commands accept a destination's id or its name. Files have no
headers and no secrets, and apply keeps those that a destination has.`,
		Example: `  orch destination create warehouse --url https://warehouse.example.com/events \
    --subscriptions '[{"events": ["order.*"]}]' --ordered-by orch.resource.id
  orch destination deliveries warehouse --failed
  orch destination resend warehouse`,
	}, r.listCommand, r.inspectCommand, r.createCommand, r.updateCommand, r.enableCommand, r.disableCommand, r.applyCommand, r.exportCommand, r.deleteCommand,
		destinationDeliveriesCommand, destinationResendCommand)
}

// Package transcode serves gRPC methods as a REST API, from their descriptors.
//
//	descriptors ──▶ operations ──▶ routes: first path segment ──▶ gorilla/mux router of that segment
//
//	request ──▶ match ──▶ admit ──▶ path, query, header ──▶ body ──▶ rpc.Caller ──▶ response
//	              │         │              └───── errors ────┘          │
//	             404       401                    422                 error ──▶ HttpError
//	             405       403, 400            413, 415
//
// The (api) option states what google.api.http cannot: statuses, optional bodies and scopes. A new rpc needs no change
// here. Package restjson maps the JSON; nothing here inspects a message.
//
// The first path segment selects the routes. Most requests have an operation, which comparing segments finds; the router decides whether
// any other one gets 404 or 405.
package transcode

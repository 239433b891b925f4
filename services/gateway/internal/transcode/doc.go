// Package transcode serves gRPC methods as a REST API, from their descriptors.
//
//	descriptors ──▶ operations ──▶ routes: first path segment ──▶ gorilla/mux router of that segment
//
//	request ──▶ match ──▶ admit ──▶ path, query, header ──▶ body ──▶ rpc.Caller ──▶ answer
//	              │         │              └───── faults ────┘          │
//	             404       401                    422                 error ──▶ HttpError
//	             405       403, 400            413, 415
//
// What google.api.http cannot say (statuses, optional bodies, scopes) is said by the (api) option. A new rpc is served
// without a change here. JSON is package restjson's; nothing here looks into a message.
//
// Routers are chosen by the first segment because a router tries its routes one after the other.
package transcode

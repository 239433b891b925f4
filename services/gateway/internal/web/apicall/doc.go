// Package apicall makes the calls of a page. A call is an rpc with its input as REST has it, and the type of its response.
// Calls pass the same decoding and authorization as requests over REST, so a page can do nothing that its reader cannot
// do there.
//
//	runs := apicall.New[*orchv1.FlowRunList](orchv1.FlowRunService_ReadFlowRuns_FullMethodName, apicall.Input{
//		Body: apicall.JSON{"limit": 50},
//	})
//	if err := r.Call(runs); err != nil { … }
//	runs.Result().GetFlowRuns()
//
// A page may call only the rpcs that its row of the table declares. Every call is recorded, and the page shows it as
// JSON and as a cURL command.
package apicall

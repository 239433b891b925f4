// Package ask makes the calls of a page. A question is an rpc with its input as REST has it, and the message that
// answers it. Questions pass the same decoding and authorization as requests over REST, so a page can do nothing that
// its reader cannot do there.
//
//	runs := ask.New[*orchv1.FlowRunList](orchv1.FlowRunService_ReadFlowRuns_FullMethodName, ask.Input{
//		Body: ask.JSON{"limit": 50},
//	})
//	if err := r.Ask(runs); err != nil { … }
//	runs.Answer().GetFlowRuns()
//
// A page may call only the rpcs that its row of the table declares. Every call is recorded, and the page shows it as
// JSON and as a cURL command.
package ask

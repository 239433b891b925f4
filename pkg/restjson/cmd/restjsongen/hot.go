package main

import "google.golang.org/protobuf/reflect/protoreflect"

// hot lists the messages of the most frequent responses. The messages inside them get an encoder too.
var hot = []protoreflect.FullName{
	"orch.v1.Event",
	"orch.v1.EventPage",
	"orch.v1.Flow",
	"orch.v1.FlowRun",
	"orch.v1.OrchestrationResult",
	"orch.v1.ReceivedEvent",
	"orch.v1.State",
	"orch.v1.WorkerFlowRunResponse",
}

// read lists the messages that clients and the broker send most. The messages inside them get a decoder too.
var read = []protoreflect.FullName{
	"orch.v1.Event",
	"orch.v1.LogCreate",
	"orch.v1.ReceivedEvent",
}

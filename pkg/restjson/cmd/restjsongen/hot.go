package main

import "google.golang.org/protobuf/reflect/protoreflect"

// hot are the messages that are answered most. What they contain gets an encoder as well.
var hot = []protoreflect.FullName{
	"orch.v1.Event",
	"orch.v1.EventPage",
	"orch.v1.Flow",
	"orch.v1.FlowRun",
	"orch.v1.OrchestrationResult",
	"orch.v1.ReceivedEvent",
	"orch.v1.State",
}

// read are the messages that clients send most, and those that the broker carries. What they contain gets a decoder as
// well.
var read = []protoreflect.FullName{
	"orch.v1.Event",
	"orch.v1.LogCreate",
	"orch.v1.ReceivedEvent",
}

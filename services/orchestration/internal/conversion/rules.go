package conversion

import (
	"sync"

	"google.golang.org/protobuf/reflect/protoreflect"
)

// rule says which names a stored field holds.
type rule uint8

const (
	// ruleName is for texts that are names as a whole; others are users' own.
	ruleName rule = iota + 1
	// rulePattern is for names that may have "*", and "!" before them.
	rulePattern
	// ruleForEach is for labels, alone or of a related resource ("related:role:label").
	ruleForEach
	// ruleLabels is for maps of labels to texts.
	ruleLabels
	// ruleSpecification is for maps of labels to patterns.
	ruleSpecification
	// ruleLabelKeys is for maps of labels to scalars.
	ruleLabelKeys
	// ruleKey is for the values of for_each labels.
	ruleKey
	// rulePayload is for payloads of events: the server's own embed events.
	rulePayload
	// ruleMarkers is for JSON of users with markers of values to hydrate.
	ruleMarkers
	// ruleActionJSON is ruleMarkers for texts that are templates of actions.
	ruleActionJSON
	// ruleSealedMarkers is ruleMarkers for encrypted JSON.
	ruleSealedMarkers
	// ruleNamesInJSON is for JSON whose texts may be names.
	ruleNamesInJSON
	// ruleActionTemplate is for templates of actions.
	ruleActionTemplate
	// ruleEventTemplate is for templates that make an event of a request.
	ruleEventTemplate
)

// rules has every stored field with names of the server. TestEveryStoredTextIsClassified lists all others.
var rules = map[protoreflect.FullName]rule{
	"orch.v1.ReceivedEvent.event":        ruleName,
	"orch.v1.ReceivedEvent.resource_id":  ruleName,
	"orch.v1.ReceivedEvent.resource_ids": ruleName,
	"orch.v1.ReceivedEvent.payload":      rulePayload,
	"orch.v1.Resource.labels":            ruleLabels,
	"orch.v1.RelatedResource.labels":     ruleLabels,

	"orch.v1.Labels.values":                 ruleLabelKeys,
	"orch.v1.FlowRun.labels":                ruleLabelKeys,
	"orch.v1.Deployment.labels":             ruleLabelKeys,
	"orch.v1.FlowRun.parameters":            ruleMarkers,
	"orch.v1.FlowRun.job_variables":         ruleMarkers,
	"orch.v1.Deployment.parameters":         ruleMarkers,
	"orch.v1.Deployment.job_variables":      ruleMarkers,
	"orch.v1.DeploymentSchedule.parameters": ruleMarkers,
	"orch.v1.BlockDocument.sealed_data":     ruleSealedMarkers,

	"orch.v1.Automation.owner_resource":     ruleName,
	"orch.v1.Automation.related_resources":  ruleName,
	"orch.v1.ResourceSpecification.labels":  ruleSpecification,
	"orch.v1.EventTrigger.after":            rulePattern,
	"orch.v1.EventTrigger.expect":           rulePattern,
	"orch.v1.EventTrigger.for_each":         ruleForEach,
	"orch.v1.RunDeployment.parameters":      ruleActionJSON,
	"orch.v1.RunDeployment.job_variables":   ruleActionJSON,
	"orch.v1.Debounce.key":                  ruleActionTemplate,
	"orch.v1.Batch.key":                     ruleActionTemplate,
	"orch.v1.Singleton.key":                 ruleActionTemplate,
	"orch.v1.ChangeFlowRunState.name":       ruleActionTemplate,
	"orch.v1.ChangeFlowRunState.message":    ruleActionTemplate,
	"orch.v1.SendNotification.subject":      ruleActionTemplate,
	"orch.v1.SendNotification.body":         ruleActionTemplate,
	"orch.v1.CallWebhook.payload":           ruleActionTemplate,
	"orch.v1.SendEmailNotification.emails":  ruleActionTemplate,
	"orch.v1.SendEmailNotification.subject": ruleActionTemplate,
	"orch.v1.SendEmailNotification.body":    ruleActionTemplate,
	"orch.v1.AutomationBucket.key":          ruleKey,
	"orch.v1.AutomationFiring.key":          ruleKey,
	"orch.v1.AutomationFiring.labels":       ruleLabels,

	"orch.v1.Webhook.template":           ruleEventTemplate,
	"orch.v1.WebhookDefinition.template": ruleEventTemplate,
	"orch.v1.WebhookDelivery.event":      ruleName,

	"orch.v1.Destination.ordered_by":           ruleForEach,
	"orch.v1.DestinationSubscription.events":   rulePattern,
	"orch.v1.DestinationSubscription.template": ruleActionTemplate,
	"orch.v1.DestinationDelivery.event":        ruleName,

	"orch.v1.SavedSearchFilter.property": ruleName,
	"orch.v1.SavedSearchFilter.value":    ruleNamesInJSON,
}

// named caches whether messages of a type can hold names.
var named sync.Map // protoreflect.FullName → bool

// holdsNames reports whether a message of a type, or one inside it, has a field with a rule.
func holdsNames(md protoreflect.MessageDescriptor) bool {
	if cached, ok := named.Load(md.FullName()); ok {
		return cached.(bool)
	}
	found := search(md, map[protoreflect.FullName]bool{})
	named.Store(md.FullName(), found)
	return found
}

func search(md protoreflect.MessageDescriptor, visited map[protoreflect.FullName]bool) bool {
	if visited[md.FullName()] {
		return false
	}
	visited[md.FullName()] = true
	fields := md.Fields()
	for i := range fields.Len() {
		fd := fields.Get(i)
		if rules[fd.FullName()] != 0 {
			return true
		}
		if inner := messageOf(fd); inner != nil && search(inner, visited) {
			return true
		}
	}
	return false
}

// messageOf returns the type of a field's messages, those of a map's values included; nil for others.
func messageOf(fd protoreflect.FieldDescriptor) protoreflect.MessageDescriptor {
	if fd.IsMap() {
		fd = fd.MapValue()
	}
	return fd.Message()
}

package pages

import (
	"cmp"
	"slices"
	"strings"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/gateway/internal/web/apicall"
	"github.com/orch-project/orch/services/gateway/internal/web/page"
	"github.com/orch-project/orch/services/gateway/internal/web/show"
)

// automationEditorCalls are the rpcs that try an automation and the rpcs that list the objects of actions. A reader without permission for
// a list writes UUIDs, and a reader without permission for trials has no button.
var automationEditorCalls = []string{
	orchv1.AutomationService_EvaluateAutomation_FullMethodName, orchv1.AutomationService_PreviewAutomation_FullMethodName,
	orchv1.DeploymentService_ReadDeployments_FullMethodName, orchv1.FlowService_ReadFlows_FullMethodName, orchv1.WorkPoolService_ReadWorkPools_FullMethodName,
	orchv1.WorkQueueService_ReadWorkQueues_FullMethodName, orchv1.AutomationService_ReadAutomations_FullMethodName, orchv1.BlockDocumentService_ReadBlockDocuments_FullMethodName,
}

// maxOfferedObjects is the size of a page of the API. The text names the objects beyond it.
const maxOfferedObjects = 200

// objectLists list the objects that fields of actions name, by the keyword "objects" of their schema. A nil list could not be read.
var objectLists = map[string]func(*page.Request) []choice{
	"deployments": func(r *page.Request) []choice {
		deployments, names := deploymentNames(r)
		return choicesOf(deployments, func(d *orchv1.Deployment) choice { return choice{Value: d.GetId(), Title: names[d.GetId()]} })
	},
	"schedules": func(r *page.Request) (all []choice) {
		deployments, names := deploymentNames(r)
		for _, d := range deployments {
			all = append(all, choicesOf(d.GetSchedules(), func(s *orchv1.DeploymentSchedule) choice {
				return choice{Value: s.GetId(), Title: names[d.GetId()] + ": " + show.Line(scheduleText(s.GetSchedule()), 60)}
			})...)
		}
		return all
	},
	"work pools": func(r *page.Request) []choice {
		pools := apicall.New[*orchv1.WorkPoolList](orchv1.WorkPoolService_ReadWorkPools_FullMethodName, firstObjects(nil))
		_ = r.Call(pools)
		return choicesOf(pools.Result().GetWorkPools(), func(p *orchv1.WorkPool) choice { return choice{Value: p.GetId(), Title: show.Line(p.GetName(), 80)} })
	},
	"work queues": func(r *page.Request) []choice {
		queues := apicall.New[*orchv1.WorkQueueList](orchv1.WorkQueueService_ReadWorkQueues_FullMethodName, firstObjects(nil))
		_ = r.Call(queues)
		return choicesOf(queues.Result().GetWorkQueues(), func(q *orchv1.WorkQueue) choice {
			return choice{Value: q.GetId(), Title: show.Line(strings.TrimPrefix(q.GetWorkPoolName()+" / "+q.GetName(), " / "), 80)}
		})
	},
	"automations": func(r *page.Request) []choice {
		automations := apicall.New[*orchv1.AutomationList](orchv1.AutomationService_ReadAutomations_FullMethodName, firstObjects(nil))
		_ = r.Call(automations)
		return choicesOf(automations.Result().GetAutomations(), func(a *orchv1.Automation) choice { return choice{Value: a.GetId(), Title: show.Line(a.GetName(), 80)} })
	},
	"notification blocks": func(r *page.Request) []choice {
		return blockChoices(r, apicall.JSON{"block_schemas": apicall.JSON{"block_capabilities": apicall.JSON{"all_": []string{"notify"}}}})
	},
	"webhook blocks": func(r *page.Request) []choice {
		return blockChoices(r, apicall.JSON{"block_types": apicall.JSON{"slug": any_([]string{"webhook"})}})
	},
}

// firstObjects is the input of a call for the first page of a list.
func firstObjects(body apicall.JSON) apicall.Input {
	if body == nil {
		body = apicall.JSON{}
	}
	body["limit"] = maxOfferedObjects
	return apicall.Input{Body: body}
}

// choicesOf returns the choices of a list, by title.
func choicesOf[T any](list []T, one func(T) choice) []choice {
	all := make([]choice, 0, len(list))
	for _, object := range list {
		all = append(all, one(object))
	}
	slices.SortFunc(all, func(a, b choice) int {
		return cmp.Or(strings.Compare(a.Title, b.Title), strings.Compare(a.Value, b.Value))
	})
	return all
}

// deploymentNames returns deployments, and their names as FLOW / DEPLOYMENT by id.
func deploymentNames(r *page.Request) (deployments []*orchv1.Deployment, names map[string]string) {
	list := apicall.New[*orchv1.DeploymentList](orchv1.DeploymentService_ReadDeployments_FullMethodName, firstObjects(nil))
	_ = r.Call(list)
	deployments = list.Result().GetDeployments()
	var ids []string
	for _, d := range deployments {
		ids = append(ids, d.GetFlowId())
	}
	flows := apicall.New[*orchv1.FlowList](orchv1.FlowService_ReadFlows_FullMethodName, firstObjects(apicall.JSON{"flows": apicall.JSON{"id": any_(slices.Compact(slices.Sorted(slices.Values(ids))))}}))
	if len(ids) > 0 {
		_ = r.Call(flows) // Without flows a name is the name of the deployment alone.
	}
	flowNames := map[string]string{}
	for _, f := range flows.Result().GetFlows() {
		flowNames[f.GetId()] = f.GetName() + " / "
	}
	names = map[string]string{}
	for _, d := range deployments {
		names[d.GetId()] = show.Line(flowNames[d.GetFlowId()]+d.GetName(), 80)
	}
	return deployments, names
}

func blockChoices(r *page.Request, body apicall.JSON) []choice {
	blocks := apicall.New[*orchv1.BlockDocumentList](orchv1.BlockDocumentService_ReadBlockDocuments_FullMethodName, firstObjects(body))
	_ = r.Call(blocks)
	return choicesOf(blocks.Result().GetBlockDocuments(), func(b *orchv1.BlockDocument) choice {
		return choice{Value: b.GetId(), Title: show.Line(b.GetBlockType().GetSlug()+" / "+b.GetName(), 80)}
	})
}

// offerObjects turns fields of UUIDs into choices of objects by name. The UUID of another object stays a choice. A field keeps its input if
// there is no list.
func offerObjects(r *page.Request, form *schemaForm) {
	lists := map[string][]choice{}
	for i := range form.Fields {
		f := &form.Fields[i]
		read, offered := objectLists[f.objects]
		if !offered {
			continue
		}
		if _, done := lists[f.objects]; !done {
			lists[f.objects] = read(r)
		}
		id := strings.TrimSpace(f.Value)
		list := slices.Clone(lists[f.objects])
		if len(list) == 0 {
			continue
		}
		isThis := func(c choice) bool { return strings.EqualFold(c.Value, id) }
		if id != "" && !slices.ContainsFunc(list, isThis) {
			list = append(list, choice{Value: id, Title: show.Line(id, 80)})
		}
		f.Kind, f.Choices = kindChoice, append([]choice{{Title: "–"}}, list...)
		for j := range f.Choices {
			f.Choices[j].Selected = strings.EqualFold(f.Choices[j].Value, id)
		}
	}
}

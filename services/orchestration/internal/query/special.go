package query

import (
	"google.golang.org/protobuf/reflect/protoreflect"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// compiler compiles a filter message whose document field is at path.
type compiler func(m protoreflect.Message, path string) (node, error)

// specialField returns the compiler of a field that does not refer to a field of its own document; nil for all others.
// It is a function rather than a map, because these compilers call compileMessage, which calls it.
func specialField(name protoreflect.FullName) compiler {
	switch name {
	case "orch.v1.FlowFilter.deployment":
		return flowHasDeployment
	case "orch.v1.FlowRunFilter.parent_flow_run_id":
		return runIsSubflowOf
	case "orch.v1.FlowRunFilter.start_time":
		return runStart
	case "orch.v1.TaskRunFilter.subflow_runs":
		return taskHasSubflow
	case "orch.v1.DeploymentFilter.flow_or_deployment_name":
		return nameOfDeploymentOrFlow
	case "orch.v1.DeploymentFilter.concurrency_limit":
		// Limits of deployments moved to another collection after this filter was defined. It is accepted and matches
		// every deployment.
		return func(protoreflect.Message, string) (node, error) { return matchAll{}, nil }
	case "orch.v1.LogFilter.text":
		return func(m protoreflect.Message, _ string) (node, error) {
			return compileText(m.Interface().(*orchv1.LogFilterTextSearch).GetQuery(), logTexts)
		}
	}
	return nil
}

// specialMessage returns the compiler of a leaf whose criteria are joined differently; nil for all others.
func specialMessage(name protoreflect.FullName) compiler {
	switch name {
	case "orch.v1.FlowRunFilterCreatedBy":
		return runCreatedBy
	case "orch.v1.TaskRunFilterFlowRunId":
		return taskFlowRunID
	}
	return nil
}

func flowHasDeployment(m protoreflect.Message, _ string) (node, error) {
	f := m.Interface().(*orchv1.IsNullFilter)
	if f.IsNull_ == nil {
		return matchAll{}, nil
	}
	return exists{rel: flowDeployments, in: matchAll{}, not: f.GetIsNull_()}, nil
}

func runIsSubflowOf(m protoreflect.Message, _ string) (node, error) {
	in, err := compileMessage(m, runTaskRuns.foreign)
	if _, all := in.(matchAll); all || err != nil {
		return in, err
	}
	return exists{rel: runParentTask, in: in}, nil
}

// runStart compares the actual start time of a run, or the expected one before it starts: START_TIME sorts by the same
// time. Only is_null_ tests the actual start alone.
func runStart(m protoreflect.Message, path string) (node, error) {
	var kids []node
	fds := m.Descriptor().Fields()
	for i := range fds.Len() {
		fd, field := fds.Get(i), "sort_start"
		if !m.Has(fd) {
			continue
		}
		if fd.Name() == "is_null_" {
			field = "start_time"
		}
		n, err := compileOperator(m, fd, join2(path, field), false)
		if err != nil {
			return nil, err
		}
		kids = append(kids, n)
	}
	return and(kids...), nil
}

func taskHasSubflow(m protoreflect.Message, _ string) (node, error) {
	f := m.Interface().(*orchv1.ExistsFilter)
	if f.Exists_ == nil {
		return matchAll{}, nil
	}
	return exists{rel: taskSubflowRun, in: matchAll{}, not: !f.GetExists_()}, nil
}

func nameOfDeploymentOrFlow(m protoreflect.Message, _ string) (node, error) {
	name, err := compileMessage(m, "name")
	if _, all := name.(matchAll); all || err != nil {
		return name, err
	}
	return or(name, exists{rel: deploymentFlow, in: name}), nil
}

// runCreatedBy compiles FlowRunFilterCreatedBy, whose lists name fields instead of operators. A list also demands the creator itself:
// the index of creators has only the runs with one.
func runCreatedBy(m protoreflect.Message, path string) (node, error) {
	f := m.Interface().(*orchv1.FlowRunFilterCreatedBy)
	fds := m.Descriptor().Fields()
	present := criterion(path, "$exists", true)
	var lists, kids []node
	for _, c := range []struct{ field, key string }{{"id_", "id"}, {"type_", "type"}} {
		fd := fds.ByName(protoreflect.Name(c.field))
		if !m.Has(fd) {
			continue
		}
		operand, err := stored(fd, m.Get(fd))
		if err != nil {
			return nil, err
		}
		lists = append(lists, criterion(join2(path, c.key), "$in", operand))
	}
	if f.IsNull_ != nil {
		kids = append(kids, criterion(path, "$exists", !f.GetIsNull_()))
	}
	if disjunctive(m) {
		if len(lists) > 0 {
			kids = append([]node{and(or(lists...), present)}, kids...)
		}
		return or(kids...), nil
	}
	if len(lists) > 0 && f.IsNull_ == nil {
		kids = append(kids, present)
	}
	return and(append(lists, kids...)...), nil
}

// taskFlowRunID compiles TaskRunFilterFlowRunId. Its is_null_ defaults to false, so false only takes effect without
// any_; true overrides any_.
func taskFlowRunID(m protoreflect.Message, path string) (node, error) {
	f := m.Interface().(*orchv1.TaskRunFilterFlowRunId)
	switch {
	case f.GetIsNull_():
		return null(path, false, true), nil
	case f.Any_ != nil:
		fd := m.Descriptor().Fields().ByName("any_")
		return compileOperator(m, fd, path, false)
	case f.IsNull_ != nil:
		return null(path, false, false), nil
	}
	return matchAll{}, nil
}

package logs

import (
	"regexp"
	"slices"

	"github.com/orch-project/orch/pkg/events"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// Matcher is a compiled LogFilter for live logs; it is safe for concurrent use. It has the semantics of the store's
// filters.
type Matcher struct {
	criteria []criterion
	or       bool
}

// criterion reports whether a log matches one part of a filter.
type criterion func(*orchv1.Log) bool

// NewMatcher compiles a filter; nil is the filter without criteria.
func NewMatcher(f *orchv1.LogFilter) *Matcher {
	return &Matcher{
		or: f.GetOperator() == orchv1.Operator_OPERATOR_OR,
		criteria: slices.DeleteFunc([]criterion{
			level(f.GetLevel()), timestamp(f.GetTimestamp()), flowRun(f.GetFlowRunId()), taskRun(f.GetTaskRunId()), text(f.GetText()), name(f.GetName()),
		}, func(c criterion) bool { return c == nil }),
	}
}

// Match reports whether the log matches the criteria: all of them, or one if the filter's operator is or_.
func (m *Matcher) Match(log *orchv1.Log) bool {
	for _, meets := range m.criteria {
		if meets(log) == m.or {
			return m.or
		}
	}
	return !m.or || len(m.criteria) == 0
}

func level(f *orchv1.LogFilterLevel) criterion {
	if f == nil {
		return nil
	}
	return func(log *orchv1.Log) bool {
		return (f.Ge_ == nil || log.GetLevel() >= f.GetGe_()) && (f.Le_ == nil || log.GetLevel() <= f.GetLe_())
	}
}

// timestamp compares microseconds, as the store does.
func timestamp(f *orchv1.TimeFilter) criterion {
	if f == nil {
		return nil
	}
	before, after := f.GetBefore_().AsTime().UnixMicro(), f.GetAfter_().AsTime().UnixMicro()
	return func(log *orchv1.Log) bool {
		at := log.GetTimestamp().AsTime().UnixMicro()
		return (f.Before_ == nil || at <= before) && (f.After_ == nil || at >= after)
	}
}

func flowRun(f *orchv1.AnyUuidFilter) criterion {
	if f == nil {
		return nil
	}
	return func(log *orchv1.Log) bool { return isOneOf(log.FlowRunId, f.Any_) }
}

func taskRun(f *orchv1.LogFilterTaskRunId) criterion {
	if f == nil {
		return nil
	}
	return func(log *orchv1.Log) bool {
		return isOneOf(log.TaskRunId, f.Any_) && (f.IsNull_ == nil || f.GetIsNull_() == (log.TaskRunId == nil))
	}
}

// isOneOf reports whether a list contains an id; a nil list contains everything, absent ids included.
func isOneOf(id *string, list *orchv1.UuidList) bool {
	return list == nil || (id != nil && slices.Contains(list.GetValues(), *id))
}

// text searches for the terms of a query in the message and in the logger's name.
func text(f *orchv1.LogFilterTextSearch) criterion {
	if f == nil {
		return nil
	}
	q := events.ParseText(f.GetQuery()).Compile()
	return func(log *orchv1.Log) bool {
		return q.Match(func(term *regexp.Regexp) bool {
			return term.MatchString(log.GetMessage()) || term.MatchString(log.GetName())
		})
	}
}

func name(f *orchv1.AnyStringFilter) criterion {
	if f == nil {
		return nil
	}
	return func(log *orchv1.Log) bool {
		return f.Any_ == nil || slices.Contains(f.GetAny_().GetValues(), log.GetName())
	}
}

package main

import (
	"fmt"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/orch-project/orch/pkg/restjson"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/query"
	"github.com/orch-project/orch/services/orchestration/internal/query/criteria"
)

// question is a page or a count of a list of the contract.
type question struct {
	name  string
	own   query.Collection
	body  proto.Message     // Filters on the collection and on related ones.
	order protoreflect.Enum // nil for a count, and for lists without sorts.
	count bool
	// deep is the share of the matches before the page. byToken says that the page is requested by a token, not by an offset.
	deep    float64
	byToken bool
	after   query.Position // Of the token.
}

// lists are the lists whose size, or whose related collections' size, grows with the number of flow runs.
var lists = []struct {
	own     query.Collection
	body    proto.Message
	counted bool // Whether the contract has a count of the list.
}{
	{query.FlowRun, &orchv1.FlowRunQuery{}, true},
	{query.TaskRun, &orchv1.TaskRunQuery{}, true},
	{query.Flow, &orchv1.FlowQuery{}, true},
	{query.Deployment, &orchv1.DeploymentQuery{}, true},
	{query.WorkPool, &orchv1.WorkPoolQuery{}, true},
	{query.WorkQueue, &orchv1.WorkQueueQuery{}, false},
	{query.Log, &orchv1.LogQuery{}, false},
	{query.Artifact, &orchv1.ArtifactQuery{}, true},
	{query.ArtifactLatest, &orchv1.ArtifactCollectionQuery{}, true},
}

// contract returns a page in each order and a count for each criterion of each list. Criteria of related collections have a page in the
// default order and a count. n is the number of flow runs in the store.
func contract(n int) []question {
	var all []question
	s := samplesOf(n)
	for _, list := range lists {
		fields := list.body.ProtoReflect().Descriptor().Fields()
		orders := ordersOf(fields.ByName("sort"))
		ask := func(name string, body proto.Message, orders []protoreflect.Enum) {
			name = string(list.own) + " " + name
			for _, o := range orders {
				q := question{name: name, own: list.own, body: body, order: o}
				if o != nil {
					value, _ := restjson.EnumWord(o.Descriptor(), o.Number())
					q.name += " by " + value
				}
				all = append(all, q)
			}
			if list.counted {
				all = append(all, question{name: "count " + name, own: list.own, body: body, count: true})
			}
		}
		ask("all", list.body, orders)
		for i := range fields.Len() {
			field := fields.Get(i)
			far, ok := query.FieldCollection(list.own, string(field.Name()))
			if !ok || field.Message() == nil {
				continue
			}
			within := orders
			if far != list.own {
				within = orders[:1]
			}
			for _, c := range criteria.Of(field.Message()) {
				for _, v := range variants(c) {
					body := proto.Clone(list.body)
					s.set(far, c, v, body.ProtoReflect().Mutable(field).Message())
					ask(string(far)+"."+c.String()+v.label, body, within)
				}
			}
		}
	}
	return all
}

// ordersOf returns the values of a sort, the default first; one nil for a list without sorts.
func ordersOf(sort protoreflect.FieldDescriptor) []protoreflect.Enum {
	if sort == nil {
		return []protoreflect.Enum{nil}
	}
	enum := sort.Enum()
	var all []protoreflect.Enum
	for i := 1; i < enum.Values().Len(); i++ {
		v := number{enum, enum.Values().Get(i).Number()}
		name, _ := restjson.EnumWord(enum, v.n)
		if strings.Contains(restjson.Options(sort).GetDefault(), `"`+name+`"`) {
			all = append([]protoreflect.Enum{v}, all...)
		} else {
			all = append(all, v)
		}
	}
	return all
}

// number is a value of an enum.
type number struct {
	enum protoreflect.EnumDescriptor
	n    protoreflect.EnumNumber
}

func (v number) Descriptor() protoreflect.EnumDescriptor { return v.enum }
func (v number) Type() protoreflect.EnumType             { return nil }
func (v number) Number() protoreflect.EnumNumber         { return v.n }

// variant is one operand of a criterion with several that differ in cost.
type variant struct {
	label string
	value bool
}

func variants(c criteria.Path) []variant {
	if last := c[len(c)-1]; last.Kind() == protoreflect.BoolKind {
		return []variant{{":true", true}, {":false", false}}
	}
	return []variant{{}}
}

// deep returns the pages of flow runs behind nine tenths of them, by offset and by token.
func deep() []question {
	var all []question
	body := &orchv1.FlowRunQuery{}
	for _, o := range ordersOf(body.ProtoReflect().Descriptor().Fields().ByName("sort")) {
		name, _ := restjson.EnumWord(o.Descriptor(), o.Number())
		q := question{name: fmt.Sprintf("flow_run all by %s, behind nine tenths", name), own: query.FlowRun, body: body, order: o, deep: .9}
		all = append(all, q)
		q.name, q.byToken = q.name+" by token", true
		all = append(all, q)
	}
	return all
}

// sort is the order of a page; none for lists without sorts.
func (q question) sort() (bson.D, error) {
	if q.order == nil {
		return nil, nil
	}
	return query.Sort(q.order)
}

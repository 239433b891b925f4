package match_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/orch-project/orch/pkg/testkit"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/automations/match"
)

func TestMain(m *testing.M) { testkit.Main(m) }

func labels(values map[string]string) *orchv1.ResourceSpecification {
	s := &orchv1.ResourceSpecification{Labels: map[string]*orchv1.StringOrList{}}
	for label, value := range values {
		s.Labels[label] = &orchv1.StringOrList{Kind: &orchv1.StringOrList_StringValue{StringValue: value}}
	}
	return s
}

// The index finds the filters that take an event, and no others.
func TestIndexFindsWhatFiltersTake(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOfN(rapid.SampledFrom([]rune("ab.*?[]!")), 0, 4, -1)
		plain := rapid.StringOfN(rapid.SampledFrom([]rune("ab.")), 0, 4, -1)
		texts := rapid.SliceOfN(text, 0, 3)
		spec := rapid.MapOfN(rapid.SampledFrom([]string{"l", "m"}), text, 0, 2)
		filters := make([]*match.Filter, rapid.IntRange(0, 12).Draw(t, "filters"))
		index := match.NewIndex[int]()
		for i := range filters {
			filters[i] = match.NewFilter(&orchv1.EventTrigger{
				Expect: texts.Draw(t, "expect"), After: texts.Draw(t, "after"), Match: labels(spec.Draw(t, "match")),
				MatchRelated: &orchv1.RelatedMatch{Kind: &orchv1.RelatedMatch_One{One: labels(spec.Draw(t, "related"))}},
			})
			index.Add(filters[i], i)
		}
		values := rapid.MapOfN(rapid.SampledFrom([]string{"l", "m"}), plain, 0, 2)
		e := &orchv1.ReceivedEvent{Event: plain.Draw(t, "name"), Resource: &orchv1.Resource{Labels: values.Draw(t, "labels")}}
		for range rapid.IntRange(0, 2).Draw(t, "related resources") {
			e.Related = append(e.Related, &orchv1.RelatedResource{Labels: values.Draw(t, "related labels")})
		}
		var want []int
		for i, f := range filters {
			if starts, expected := f.Matches(e); starts || expected {
				want = append(want, i)
			}
		}
		got, _, err := index.Takers(e)
		require.NoError(t, err)
		slices.Sort(got)
		require.Equal(t, want, got)
		if len(want) > 0 {
			require.True(t, index.MayMatch(e.GetEvent()))
		}
	})
}

// An event that none of 10,000 automations takes, for each way to distinguish automations.
func BenchmarkIndexOfManyAutomations(b *testing.B) {
	e := &orchv1.ReceivedEvent{
		Event:    "orch.flow-run.Completed",
		Resource: &orchv1.Resource{Labels: map[string]string{"orch.resource.id": "orch.flow-run.x", "orch.resource.name": "x"}},
		Related: []*orchv1.RelatedResource{
			{Labels: map[string]string{"orch.resource.id": "orch.flow.x", "orch.resource.role": "flow"}},
			{Labels: map[string]string{"orch.resource.id": "orch.deployment.x", "orch.resource.role": "deployment"}},
		},
	}
	for name, build := range map[string]func(i int) *orchv1.EventTrigger{
		"by name": func(i int) *orchv1.EventTrigger {
			return &orchv1.EventTrigger{Expect: []string{fmt.Sprintf("shop.order-%d.paid", i)}}
		},
		"by prefix": func(i int) *orchv1.EventTrigger {
			return &orchv1.EventTrigger{Expect: []string{fmt.Sprintf("shop.order-%d.*", i)}}
		},
		"by resource": func(i int) *orchv1.EventTrigger {
			return &orchv1.EventTrigger{
				Expect: []string{"orch.flow-run.*"}, Match: labels(map[string]string{"orch.resource.id": fmt.Sprintf("orch.flow-run.%d", i)}),
			}
		},
		"by related resource": func(i int) *orchv1.EventTrigger {
			return &orchv1.EventTrigger{
				Expect: []string{"orch.flow-run.Completed"}, MatchRelated: &orchv1.RelatedMatch{Kind: &orchv1.RelatedMatch_One{
					One: labels(map[string]string{"orch.resource.id": fmt.Sprintf("orch.deployment.%d", i)}),
				}},
			}
		},
		"by role and name of a related resource": func(i int) *orchv1.EventTrigger {
			return &orchv1.EventTrigger{
				Expect: []string{"orch.flow-run.Completed"}, Match: labels(map[string]string{"orch.resource.id": "orch.flow-run.*"}),
				MatchRelated: &orchv1.RelatedMatch{Kind: &orchv1.RelatedMatch_One{One: labels(map[string]string{
					"orch.resource.role": "flow", "orch.zone.name": fmt.Sprintf("zone-%d", i),
				})}},
			}
		},
	} {
		b.Run(name, func(b *testing.B) {
			index := match.NewIndex[int]()
			for i := range 10_000 {
				index.Add(match.NewFilter(build(i)), i)
			}
			for b.Loop() {
				if found, _, _ := index.Takers(e); len(found) != 0 {
					b.Fatal("an automation takes the event")
				}
			}
		})
	}
}

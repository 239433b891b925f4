package jsontree_test

import (
	"strings"
	"testing"

	"github.com/orch-project/orch/pkg/jsontree"
)

const event = `{"occurred":"2026-01-02T03:04:05.678901Z","event":"orch.task-run.Running","resource":{"orch.resource.id":` +
	`"orch.task-run.018f4f2c-0000-7000-8000-000000000001","orch.resource.name":"task-1","orch.run-count":"1"},"related":[],` +
	`"payload":{"intended":{"from":"PENDING","to":"RUNNING"},"n":[1,2.5,true,null]},"id":"018f4f2c-0000-7000-8000-000000000001"}`

func BenchmarkParse(b *testing.B) {
	for name, text := range map[string]string{
		"event": event, "large": "[" + strings.Repeat(event+",", 500) + event + "]", "long": `{"payload":{"text":"` + strings.Repeat("some words ", 400) + `"}}`,
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				if _, err := jsontree.EventLimits().Parse(text); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkAppend(b *testing.B) {
	v, _ := jsontree.Parse(event)
	var dst []byte
	b.ReportAllocs()
	for b.Loop() {
		dst = jsontree.Append(dst[:0], v)
	}
}

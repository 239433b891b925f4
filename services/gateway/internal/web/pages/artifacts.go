package pages

import (
	"encoding/json"
	"fmt"

	"github.com/orch-project/orch/pkg/jsontree"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/gateway/internal/web/apicall"
	"github.com/orch-project/orch/services/gateway/internal/web/page"
	"github.com/orch-project/orch/services/gateway/internal/web/show"
)

// artifactPages are the list of the latest artifacts and the page of one.
func artifactPages() []page.Page {
	return []page.Page{
		{
			Pattern: "/artifacts",
			Section: "/artifacts",
			Needs:   []string{orchv1.ArtifactService_ReadLatestArtifacts_FullMethodName},
			Show:    showArtifacts,
		},
		{
			Pattern: "/artifacts/artifact/{id}",
			Section: "/artifacts",
			Needs:   []string{orchv1.ArtifactService_ReadArtifact_FullMethodName},
			Uses:    []string{orchv1.ArtifactService_ReadArtifacts_FullMethodName},
			Show:    showArtifact,
		},
	}
}

func showArtifacts(r *page.Request) (page.View, error) {
	body, q, skip, err := listBody(r, "artifacts", "UPDATED_DESC")
	if err != nil {
		return page.View{}, err
	}
	delete(body, "artifacts")
	filter := apicall.JSON{"type": apicall.JSON{"not_any_": []string{"result"}}}
	if q != "" {
		filter["key"] = apicall.JSON{"like_": q}
	}
	body["artifacts"] = filter
	artifacts := apicall.New[*orchv1.ArtifactCollectionList](orchv1.ArtifactService_ReadLatestArtifacts_FullMethodName, apicall.Input{Body: body})
	if err := r.Call(artifacts); err != nil {
		return page.View{}, err
	}
	list, more := cut(artifacts.Result().GetArtifacts(), param50)
	v := listView{Title: "Artifacts", Search: true, Q: q, Path: r.Path(), Table: table{Columns: []string{"Key", "Type", "Description", "Updated"}, Empty: "No artifact with a key yet."}}
	for _, a := range list {
		v.Table.add(link(r.To("artifacts", "artifact", a.GetLatestId()), a.GetKey()), text(a.GetType()), text(a.GetDescription()), timeCell(r, a.GetUpdated()))
	}
	if more {
		v.Table.Older = r.Here("skip", show.Digits(skip+param50))
	}
	return page.View{Title: "Artifacts", Template: "list.html", Data: v}, nil
}

func showArtifact(r *page.Request) (page.View, error) {
	artifact := apicall.New[*orchv1.Artifact](orchv1.ArtifactService_ReadArtifact_FullMethodName, apicall.ID(r.Vars["id"]))
	if err := r.Call(artifact); err != nil {
		return page.View{}, err
	}
	a := artifact.Result()
	title := a.GetKey()
	if title == "" {
		title = "without a key"
	}
	v := detailView{
		Kind: "Artifact", Title: show.Line(title, 80), ID: show.ID(a.GetId()), Description: show.Markdown(a.GetDescription()),
		Pairs:  pairs(pair{"Type", text(a.GetType())}, pair{"Created", timeCell(r, a.GetCreated())}),
		Panels: []panel{artifactData(a)},
	}
	if a.FlowRunId != nil {
		v.Pairs = append(v.Pairs, pair{"Flow run", link(r.To("runs", "flow-run", a.GetFlowRunId()), a.GetFlowRunId())})
	}
	if a.TaskRunId != nil {
		v.Pairs = append(v.Pairs, pair{"Task run", link(r.To("runs", "task-run", a.GetTaskRunId()), a.GetTaskRunId())})
	}
	if a.Key != nil {
		versions := apicall.New[*orchv1.ArtifactList](orchv1.ArtifactService_ReadArtifacts_FullMethodName, apicall.Input{Body: apicall.JSON{
			"artifacts": apicall.JSON{"key": any_([]string{a.GetKey()})}, "sort": "CREATED_DESC", "limit": 20,
		}})
		_ = r.Call(versions) // Its panel says what it misses.
		v.Panels = append(v.Panels, panel{Title: "Versions", Table: artifactTable(r, versions.Result().GetArtifacts()), Problem: page.Problem(versions.Err())})
	}
	return page.View{Title: v.Title, Template: "detail.html", Data: v}, nil
}

// artifactData shows the content in the form of its type.
func artifactData(a *orchv1.Artifact) panel {
	value, err := jsontree.Parse(string(a.GetData()))
	content, isText := value.(string)
	if err == nil && isText {
		switch a.GetType() {
		case "markdown":
			return panel{Title: "Markdown", Body: show.Markdown(content)}
		case "table":
			if t := tableOf([]byte(content)); t != nil {
				return panel{Title: "Table", Table: t}
			}
		case "link", "image":
			return panel{Title: "Content", Body: show.External(content, show.Line(content, 200))}
		}
	}
	if t := tableOf(a.GetData()); a.GetType() == "table" && t != nil {
		return panel{Title: "Table", Table: t}
	}
	return panel{Title: "Data", Body: show.JSON(a.GetData())}
}

// tableOf reads a table of a client: a list of objects. Its columns are the keys of all objects in the order of their
// first appearance. It returns nil for anything else, and for objects without keys.
func tableOf(raw []byte) *table {
	const mostRows, mostColumns = 500, 40
	value, err := jsontree.Parse(string(raw))
	list, ok := value.(jsontree.List)
	if err != nil || !ok {
		return nil
	}
	t := &table{}
	column := map[string]int{}
	var rows []*jsontree.Object
	for _, item := range list[:min(len(list), mostRows)] {
		row, ok := item.(*jsontree.Object)
		if !ok {
			return nil
		}
		rows = append(rows, row)
		for _, m := range row.Members() {
			if _, seen := column[m.Key]; !seen && len(t.Columns) < mostColumns {
				column[m.Key] = len(t.Columns)
				t.Columns = append(t.Columns, show.Line(m.Key, 60))
			}
		}
	}
	if len(t.Columns) == 0 {
		return nil
	}
	for _, row := range rows {
		cells := make([]cell, len(t.Columns))
		for _, m := range row.Members() {
			if i, shown := column[m.Key]; shown {
				_, number := m.Value.(json.Number)
				cells[i] = cell{Text: show.Line(plain(m.Value), 200), Number: number}
			}
		}
		t.add(cells...)
	}
	if len(list) > mostRows {
		cells := make([]cell, len(t.Columns))
		cells[0].Text = fmt.Sprintf("… %d more rows", len(list)-mostRows)
		t.add(cells...)
	}
	return t
}

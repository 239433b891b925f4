package pages

import (
	"fmt"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/gateway/internal/web/apicall"
	"github.com/orch-project/orch/services/gateway/internal/web/page"
	"github.com/orch-project/orch/services/gateway/internal/web/show"
)

// settingPages are the pages of variables, blocks and concurrency limits.
func settingPages() []page.Page {
	return []page.Page{
		{Pattern: "/variables", Section: "/variables", Needs: []string{orchv1.VariableService_ReadVariables_FullMethodName}, Show: showVariables},
		{
			Pattern: "/variables/variable/{id}", Section: "/variables",
			Needs: []string{orchv1.VariableService_ReadVariable_FullMethodName}, Show: showVariable,
		},
		{Pattern: "/blocks", Section: "/blocks", Needs: []string{orchv1.BlockDocumentService_ReadBlockDocuments_FullMethodName}, Show: showBlocks},
		{
			Pattern: "/blocks/block/{id}", Section: "/blocks",
			Needs: []string{orchv1.BlockDocumentService_ReadBlockDocument_FullMethodName}, Show: showBlock,
		},
		{
			Pattern: "/concurrency-limits", Section: "/concurrency-limits",
			Needs: []string{orchv1.ConcurrencyLimitV2Service_ReadAllConcurrencyLimitsV2_FullMethodName},
			Uses:  []string{orchv1.ConcurrencyLimitService_ReadConcurrencyLimits_FullMethodName},
			Show:  showLimits,
		},
		{
			Pattern: "/concurrency-limits/concurrency-limit/{id}", Section: "/concurrency-limits",
			Needs: []string{orchv1.ConcurrencyLimitV2Service_ReadConcurrencyLimitV2_FullMethodName}, Show: showLimit,
		},
	}
}

func showVariables(r *page.Request) (page.View, error) {
	body, q, skip, err := listBody(r, "variables", "NAME_ASC")
	if err != nil {
		return page.View{}, err
	}
	variables := apicall.New[*orchv1.VariableList](orchv1.VariableService_ReadVariables_FullMethodName, apicall.Input{Body: body})
	if err := r.Call(variables); err != nil {
		return page.View{}, err
	}
	list, more := cut(variables.Result().GetVariables(), param50)
	v := listView{Title: "Variables", Search: true, Q: q, Path: r.Path(), Table: table{Columns: []string{"Variable", "Value", "Tags", "Updated"}, Empty: "No variable."}}
	for _, variable := range list {
		v.Table.add(link(r.To("variables", "variable", variable.GetId()), variable.GetName()), text(string(variable.GetValue())), mark(show.Tags(variable.GetTags())), timeCell(r, variable.GetUpdated()))
	}
	if more {
		v.Table.Older = r.Here("skip", show.Digits(skip+param50))
	}
	return page.View{Title: "Variables", Template: "list.html", Data: v}, nil
}

func showVariable(r *page.Request) (page.View, error) {
	variable := apicall.New[*orchv1.Variable](orchv1.VariableService_ReadVariable_FullMethodName, apicall.ID(r.Vars["id"]))
	if err := r.Call(variable); err != nil {
		return page.View{}, err
	}
	a := variable.Result()
	v := detailView{
		Kind: "Variable", Title: show.Line(a.GetName(), 80), ID: show.ID(a.GetId()),
		Pairs:  pairs(pair{"Tags", mark(show.Tags(a.GetTags()))}, pair{"Created", timeCell(r, a.GetCreated())}, pair{"Updated", timeCell(r, a.GetUpdated())}),
		Panels: []panel{{Title: "Value", Body: show.JSON(a.GetValue())}},
	}
	return page.View{Title: v.Title, Template: "detail.html", Data: v}, nil
}

func showBlocks(r *page.Request) (page.View, error) {
	skip := r.Int("skip", 0, 1_000_000, 0)
	if err := r.Err(); err != nil {
		return page.View{}, err
	}
	blocks := apicall.New[*orchv1.BlockDocumentList](orchv1.BlockDocumentService_ReadBlockDocuments_FullMethodName, apicall.Input{Body: apicall.JSON{"limit": param50 + 1, "offset": skip}})
	if err := r.Call(blocks); err != nil {
		return page.View{}, err
	}
	list, more := cut(blocks.Result().GetBlockDocuments(), param50)
	v := listView{Title: "Blocks", Table: table{Columns: []string{"Block", "Type", "Updated"}, Empty: "No block. Clients save configuration and secrets as blocks."}}
	for _, b := range list {
		v.Table.add(link(r.To("blocks", "block", b.GetId()), b.GetName()), text(b.GetBlockType().GetName()), timeCell(r, b.GetUpdated()))
	}
	if more {
		v.Table.Older = r.Here("skip", show.Digits(skip+param50))
	}
	return page.View{Title: "Blocks", Template: "list.html", Data: v}, nil
}

// showBlock shows a block with masked secrets.
func showBlock(r *page.Request) (page.View, error) {
	block := apicall.New[*orchv1.BlockDocument](orchv1.BlockDocumentService_ReadBlockDocument_FullMethodName, apicall.ID(r.Vars["id"]))
	if err := r.Call(block); err != nil {
		return page.View{}, err
	}
	b := block.Result()
	v := detailView{
		Kind: "Block", Title: show.Line(b.GetName(), 80), ID: show.ID(b.GetId()),
		Pairs:  pairs(pair{"Type", text(b.GetBlockType().GetName())}, pair{"Created", timeCell(r, b.GetCreated())}, pair{"Updated", timeCell(r, b.GetUpdated())}),
		Panels: []panel{{Title: "Data, secrets masked", Body: show.JSON(b.GetData())}},
	}
	return page.View{Title: v.Title, Template: "detail.html", Data: v}, nil
}

func showLimits(r *page.Request) (page.View, error) {
	limits := apicall.New[*orchv1.GlobalConcurrencyLimitList](orchv1.ConcurrencyLimitV2Service_ReadAllConcurrencyLimitsV2_FullMethodName, apicall.Input{Body: apicall.JSON{}})
	tags := apicall.New[*orchv1.ConcurrencyLimitList](orchv1.ConcurrencyLimitService_ReadConcurrencyLimits_FullMethodName, apicall.Input{Body: apicall.JSON{}})
	_ = r.Call(limits, tags)
	if err := limits.Err(); err != nil {
		return page.View{}, err
	}
	v := listView{Title: "Concurrency limits", Problems: problems(tags), Table: table{
		Columns: []string{"Limit", "Kind", "Slots", "Active"}, Empty: "No limit: nothing restricts how many runs execute at once.",
	}}
	for _, l := range limits.Result().GetLimits() {
		total := l.GetLimit()
		v.Table.add(link(r.To("concurrency-limits", "concurrency-limit", l.GetId()), l.GetName()), text("global"), slots(l.GetActiveSlots(), &total), yes(l.GetActive(), "active", "inactive"))
	}
	for _, l := range tags.Result().GetLimits() {
		total := l.GetConcurrencyLimit()
		v.Table.add(text(l.GetTag()), text("tag of task runs"), slots(int64(len(l.GetActiveSlots())), &total), text("active"))
	}
	return page.View{Title: v.Title, Template: "list.html", Data: v}, nil
}

func showLimit(r *page.Request) (page.View, error) {
	limit := apicall.New[*orchv1.DeploymentConcurrencyLimit](orchv1.ConcurrencyLimitV2Service_ReadConcurrencyLimitV2_FullMethodName, apicall.Input{Path: map[string]string{"id_or_name": r.Vars["id"]}})
	if err := r.Call(limit); err != nil {
		return page.View{}, err
	}
	l := limit.Result()
	total := l.GetLimit()
	v := detailView{
		Kind: "Concurrency limit", Title: show.Line(l.GetName(), 80), ID: show.ID(l.GetId()),
		Pairs: pairs(
			pair{"Slots", slots(l.GetActiveSlots(), &total)}, pair{"Active", yes(l.GetActive(), "yes", "no")},
			pair{"Slots released per second", text(fmt.Sprintf("%g", l.GetSlotDecayPerSecond()))},
			pair{"Created", timeCell(r, l.GetCreated())}, pair{"Updated", timeCell(r, l.GetUpdated())},
		),
	}
	return page.View{Title: v.Title, Template: "detail.html", Data: v}, nil
}

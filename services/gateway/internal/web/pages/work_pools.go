package pages

import (
	"slices"

	"github.com/google/uuid"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/gateway/internal/web/apicall"
	"github.com/orch-project/orch/services/gateway/internal/web/page"
	"github.com/orch-project/orch/services/gateway/internal/web/show"
)

// workPoolPages are the list of work pools and the page of one with its queues and workers. Addresses of queues and
// workers, which clients print, lead to the page of their pool.
func workPoolPages() []page.Page {
	pool := page.Page{
		Section: "/work-pools",
		Needs:   []string{orchv1.WorkPoolService_ReadWorkPool_FullMethodName, orchv1.WorkPoolService_ReadWorkPools_FullMethodName},
		Uses: append([]string{
			orchv1.WorkPoolService_ReadWorkPoolQueues_FullMethodName, orchv1.WorkPoolService_ReadWorkers_FullMethodName,
			orchv1.FlowRunService_ReadFlowRuns_FullMethodName,
		}, runRowCalls...),
		Show: showWorkPool,
	}
	pool.Pattern = "/work-pools/work-pool/{name}"
	pool.Actions = poolActions()
	worker := pool
	worker.Pattern, worker.Actions = "/work-pools/work-pool/{name}/worker/{worker}", nil
	return []page.Page{
		{
			Pattern: "/work-pools",
			Section: "/work-pools",
			Needs:   []string{orchv1.WorkPoolService_ReadWorkPools_FullMethodName},
			Uses:    []string{orchv1.CollectionService_ReadWorkPoolTypes_FullMethodName},
			Show:    showWorkPools,
			Actions: []page.Action{{Name: "pool-create", Calls: []string{orchv1.WorkPoolService_CreateWorkPool_FullMethodName}, Done: "The work pool is created.", Do: createPool}},
		},
		pool, worker, queuePage(),
		{
			Pattern: "/work-queues/work-queue/{id}",
			Section: "/work-pools",
			Needs:   []string{orchv1.WorkQueueService_ReadWorkQueue_FullMethodName},
			Show: func(r *page.Request) (page.View, error) {
				queue := apicall.New[*orchv1.WorkQueue](orchv1.WorkQueueService_ReadWorkQueue_FullMethodName, apicall.ID(r.Vars["id"]))
				if err := r.Call(queue); err != nil {
					return page.View{}, err
				}
				return page.View{Redirect: r.To("work-pools", "work-pool", queue.Result().GetWorkPoolName())}, nil
			},
		},
	}
}

func showWorkPools(r *page.Request) (page.View, error) {
	pools := apicall.New[*orchv1.WorkPoolList](orchv1.WorkPoolService_ReadWorkPools_FullMethodName, apicall.Input{Body: apicall.JSON{}})
	if err := r.Call(pools); err != nil {
		return page.View{}, err
	}
	v := listView{Title: "Work pools", Table: table{
		Columns: []string{"Work pool", "Type", "Status", "Slots", "Description"}, Empty: "No work pool yet. Workers of a pool execute the runs of its deployments.",
	}}
	for _, p := range pools.Result().GetWorkPools() {
		v.Table.add(link(r.To("work-pools", "work-pool", p.GetName()), p.GetName()), text(p.GetType()), text(poolStatus(p)), slots(p.GetActiveSlots(), p.ConcurrencyLimit), text(p.GetDescription()))
	}
	if r.May(orchv1.WorkPoolService_CreateWorkPool_FullMethodName) {
		v.Forms = append(v.Forms, newPoolForm(r))
	}
	return page.View{Title: "Work pools", Template: "list.html", Data: v}, nil
}

func poolStatus(p *orchv1.WorkPool) string {
	switch {
	case p.GetIsPaused():
		return "Paused"
	case p.GetStatus() == orchv1.WorkPoolStatus_WORK_POOL_STATUS_READY:
		return "Ready"
	}
	return "Not ready: no worker polls"
}

// slots formats the use of a limit: "3 of 10".
func slots(used int64, limit *int64) cell {
	if limit == nil {
		return text("no limit")
	}
	if excess := used - *limit; excess > 0 {
		return text(show.Count(used) + " of " + show.Count(*limit) + ", " + show.Count(excess) + " too many")
	}
	return text(show.Count(used) + " of " + show.Count(*limit))
}

// poolName returns the name of the pool in an address, which may have its id instead.
func poolName(r *page.Request) (string, error) {
	name := r.Vars["name"]
	id, err := uuid.Parse(name)
	if err != nil {
		return name, nil //nolint:nilerr // A name that is no UUID is the usual case.
	}
	pools := apicall.New[*orchv1.WorkPoolList](orchv1.WorkPoolService_ReadWorkPools_FullMethodName, apicall.Input{Body: apicall.JSON{"work_pools": apicall.JSON{"id": any_([]string{id.String()})}}})
	if err := r.Call(pools); err != nil {
		return "", err
	}
	if list := pools.Result().GetWorkPools(); len(list) == 1 {
		return list[0].GetName(), nil
	}
	return name, nil
}

func showWorkPool(r *page.Request) (page.View, error) {
	name, err := poolName(r)
	if err != nil {
		return page.View{}, err
	}
	path := func(key string) map[string]string { return map[string]string{key: name} }
	pool := apicall.New[*orchv1.WorkPool](orchv1.WorkPoolService_ReadWorkPool_FullMethodName, apicall.Input{Path: path("name")})
	if err := r.Call(pool); err != nil {
		return page.View{}, err
	}
	queues := apicall.New[*orchv1.WorkQueueList](orchv1.WorkPoolService_ReadWorkPoolQueues_FullMethodName, apicall.Input{Path: path("work_pool_name"), Body: apicall.JSON{}})
	workers := apicall.New[*orchv1.WorkerList](orchv1.WorkPoolService_ReadWorkers_FullMethodName, apicall.Input{Path: path("work_pool_name"), Body: apicall.JSON{}})
	runs := newRunLists(apicall.JSON{"work_pools": apicall.JSON{"name": any_([]string{name})}}, "pool", name)
	_ = r.Call(queues, workers, runs.past, runs.upcoming) // Each panel says what it misses.
	p := pool.Result()
	editable := r.Vars["worker"] == "" // The page of a worker has no actions.
	queueTable := &table{Columns: []string{"Queue", "Priority", "Status", "Slots", "Last polled", ""}, Empty: "No queue."}
	for _, q := range queues.Result().GetWorkQueues() {
		status := "Not ready"
		switch {
		case q.GetIsPaused():
			status = "Paused"
		case q.GetStatus() == orchv1.WorkQueueStatus_WORK_QUEUE_STATUS_READY:
			status = "Ready"
		}
		queueTable.add(link(r.To("work-pools", "work-pool", name, "queue", q.GetName()), q.GetName()), count(q.GetPriority()), text(status), slots(q.GetActiveSlots(), q.ConcurrencyLimit),
			timeCell(r, q.GetLastPolled()), queueSwitch(r, q, editable))
	}
	workerTable := &table{Columns: []string{"Worker", "Status", "Last heartbeat", ""}, Empty: "No worker polls this pool."}
	for _, w := range workers.Result().GetWorkers() {
		remove := cell{}
		if editable && r.May(orchv1.WorkPoolService_DeleteWorker_FullMethodName) {
			remove.Buttons = []button{{Action: "worker-remove", Title: "Remove", Fields: []hiddenField{{"worker", w.GetName()}}}}
		}
		workerTable.add(text(w.GetName()), yes(w.GetStatus() == orchv1.WorkerStatus_WORKER_STATUS_ONLINE, "Online", "Offline"), timeCell(r, w.GetLastHeartbeatTime()), remove)
	}
	v := detailView{
		Kind: "Work pool", Title: show.Line(p.GetName(), 80), ID: show.ID(p.GetId()), Description: show.Markdown(p.GetDescription()),
		Pairs: pairs(
			pair{"Type", text(p.GetType())}, pair{"Status", text(poolStatus(p))}, pair{"Last runs", mark(runs.strip(r))},
			pair{"Slots", slots(p.GetActiveSlots(), p.ConcurrencyLimit)}, pair{"Created", timeCell(r, p.GetCreated())},
		),
		Panels: append([]panel{
			{Title: "Queues", Table: queueTable, Problem: page.Problem(queues.Err())},
			{Title: "Workers", Table: workerTable, Problem: page.Problem(workers.Err())},
		}, runs.panels(r)...),
	}
	if commands := clientCommands(r); commands.ServesPrefect() && !p.GetIsPaused() && p.GetStatus() != orchv1.WorkPoolStatus_WORK_POOL_STATUS_READY {
		v.Panels = slices.Insert(v.Panels, 0, panel{Title: "Start a worker", Command: commands.Worker(p.GetName())})
	}
	if len(p.GetBaseJobTemplate()) > 2 {
		v.Panels = append(v.Panels, panel{Title: "Base job template", Body: show.JSON(p.GetBaseJobTemplate())})
	}
	if editable {
		v.Forms = poolForms(r, p)
	}
	if editable && r.May(orchv1.WorkPoolService_UpdateWorkPool_FullMethodName) {
		if p.GetIsPaused() {
			v.Buttons = append(v.Buttons, button{Action: "resume-pool", Title: "Resume"})
		} else {
			v.Buttons = append(v.Buttons, button{Action: "pause-pool", Title: "Pause"})
		}
	}
	if editable && r.May(orchv1.WorkPoolService_DeleteWorkPool_FullMethodName) {
		v.Buttons = append(v.Buttons, button{Action: "pool-delete", Title: "Delete", Class: "danger"})
	}
	return page.View{Title: v.Title, Template: "detail.html", Data: v}, nil
}

// queueSwitch is the button that pauses or resumes a work queue.
func queueSwitch(r *page.Request, q *orchv1.WorkQueue, editable bool) cell {
	if !editable || !r.May(orchv1.WorkPoolService_UpdateWorkPoolQueue_FullMethodName) {
		return cell{}
	}
	b := button{Action: "pause-queue", Title: "Pause", Fields: []hiddenField{{"queue", q.GetName()}}}
	if q.GetIsPaused() {
		b.Action, b.Title = "resume-queue", "Resume"
	}
	return cell{Buttons: []button{b}}
}

func pausePool(action string, paused bool) func(*page.Request) (page.View, error) {
	return func(r *page.Request) (page.View, error) {
		name, err := poolName(r)
		if err != nil {
			return page.View{}, err
		}
		if err := r.Call(changed(orchv1.WorkPoolService_UpdateWorkPool_FullMethodName, apicall.Input{
			Path: map[string]string{"name": name}, Body: apicall.JSON{"is_paused": paused},
		})); err != nil {
			return page.View{}, err
		}
		return r.Done(r.Here(), action, -1), nil
	}
}

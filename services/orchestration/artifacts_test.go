package orchestration_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/orch-project/orch/pkg/request"
	"github.com/orch-project/orch/pkg/rpc"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

func (d *domain) artifact(key, data string, edits ...func(*orchv1.ArtifactCreate)) *orchv1.Artifact {
	d.t.Helper()
	create := &orchv1.ArtifactCreate{Data: []byte(data)}
	if key != "" {
		create.Key = proto.String(key)
	}
	for _, edit := range edits {
		edit(create)
	}
	artifact, reply, err := try[*orchv1.Artifact](d, orchv1.ArtifactService_CreateArtifact_FullMethodName,
		&orchv1.CreateArtifactRequest{Artifact: create})
	require.NoError(d.t, err)
	require.Equal(d.t, http.StatusCreated, reply.Status)
	return artifact
}

func (d *domain) deleteArtifact(a *orchv1.Artifact) {
	d.t.Helper()
	_, err := tryIgnored(d, orchv1.ArtifactService_DeleteArtifact_FullMethodName, &orchv1.DeleteArtifactRequest{Id: a.GetId()})
	require.NoError(d.t, err)
}

// latest are the data of the latest artifacts, by key.
func (d *domain) latest(q *orchv1.ArtifactCollectionQuery) map[string]string {
	d.t.Helper()
	shown := map[string]string{}
	for _, a := range call[*orchv1.ArtifactCollectionList](d, orchv1.ArtifactService_ReadLatestArtifacts_FullMethodName,
		&orchv1.ReadLatestArtifactsRequest{Query: q}).GetArtifacts() {
		require.NotContains(d.t, shown, a.GetKey())
		shown[a.GetKey()] = string(a.GetData())
	}
	return shown
}

func TestLongMetadataIsCut(t *testing.T) {
	t.Parallel()
	a := newDomain(t).artifact("long", "1", func(c *orchv1.ArtifactCreate) {
		c.Metadata_ = &orchv1.StringMap{Values: map[string]string{"long": strings.Repeat("é", 501), "most": strings.Repeat("é", 500)}}
	})
	require.Equal(t, map[string]string{"long": strings.Repeat("é", 500) + "...", "most": strings.Repeat("é", 500)}, a.GetMetadata_().GetValues())
}

func TestKeyShowsItsLatestArtifact(t *testing.T) {
	t.Parallel()
	d := newDomain(t)
	newest := func(key string) (string, int) {
		a, _, err := try[*orchv1.Artifact](d, orchv1.ArtifactService_ReadLatestArtifact_FullMethodName, &orchv1.ReadLatestArtifactRequest{Key: key})
		code, _ := status(err)
		if err == nil {
			code = http.StatusOK
		}
		return string(a.GetData()), code
	}
	d.artifact("", `"nobody's"`)
	require.Empty(t, d.latest(nil))
	first := d.artifact("report", "1")
	require.Equal(t, map[string]string{"report": "1"}, d.latest(nil))
	second := d.artifact("report", "2")
	d.artifact("other", "3")
	require.Equal(t, map[string]string{"report": "2", "other": "3"}, d.latest(nil))
	data, code := newest("report")
	require.Equal(t, "2", data)
	require.Equal(t, http.StatusOK, code)

	update := &orchv1.ArtifactUpdate{Data: []byte(`{"$set": 1}`)}
	_, err := tryIgnored(d, orchv1.ArtifactService_UpdateArtifact_FullMethodName,
		&orchv1.UpdateArtifactRequest{Id: second.GetId(), Artifact: update, UpdateMask: sentFields(update)})
	require.NoError(t, err)
	require.Equal(t, `{"$set": 1}`, d.latest(nil)["report"])
	updated := func() time.Time {
		a, _, err := try[*orchv1.Artifact](d, orchv1.ArtifactService_ReadArtifact_FullMethodName, &orchv1.ReadArtifactRequest{Id: second.GetId()})
		require.NoError(t, err)
		return a.GetUpdated().AsTime()
	}
	before := updated()
	_, err = tryIgnored(d, orchv1.ArtifactService_UpdateArtifact_FullMethodName,
		&orchv1.UpdateArtifactRequest{Id: second.GetId(), Artifact: &orchv1.ArtifactUpdate{}})
	require.NoError(t, err)
	require.True(t, updated().After(before), "an update without fields is one all the same")

	d.deleteArtifact(second)
	require.Equal(t, "1", d.latest(nil)["report"])
	d.deleteArtifact(first)
	require.Equal(t, map[string]string{"other": "3"}, d.latest(nil))
	_, code = newest("report")
	require.Equal(t, http.StatusNotFound, code)
	d.artifact("report", "4") // The key begins anew at once.
	require.Equal(t, "4", d.latest(nil)["report"])

	d.happened("orch.artifact.created", "orch.artifact."+first.GetId())
	d.happened("orch.artifact.updated", "orch.artifact."+second.GetId())
	d.happened("orch.artifact.deleted", "orch.artifact."+first.GetId())
	eventually(t, func() bool {
		return d.events(&orchv1.EventFilter{Event: &orchv1.EventNameFilter{Prefix: &orchv1.StringList{Values: []string{"orch.artifact-collection."}}}}).GetTotal() >= 6
	}, "the keys' own events")
}

func TestArtifactMovesToAnotherKey(t *testing.T) {
	t.Parallel()
	d := newDomain(t)
	id := uuid.NewString()
	put := func(key *string, data string) rpc.Reply {
		_, reply, err := try[*orchv1.Artifact](d, orchv1.ArtifactService_ReplaceArtifact_FullMethodName,
			&orchv1.ReplaceArtifactRequest{Id: id, Artifact: &orchv1.ArtifactCreate{Key: key, Data: []byte(data)}})
		require.NoError(t, err)
		return reply
	}
	require.Equal(t, http.StatusCreated, put(proto.String("a"), "1").Status)
	require.Equal(t, map[string]string{"a": "1"}, d.latest(nil))
	require.NotEqual(t, http.StatusCreated, put(proto.String("b"), "2").Status)
	require.Equal(t, map[string]string{"b": "2"}, d.latest(nil))
	put(nil, "3")
	require.Empty(t, d.latest(nil))
}

// TestLatestArtifactUnderContention lets many writers create and delete artifacts of one key; whoever was last, the key
// shows the newest that is left.
func TestLatestArtifactUnderContention(t *testing.T) {
	t.Parallel()
	d := newDomain(t)
	var group sync.WaitGroup
	failures := make(chan error, 64)
	for i := range 8 {
		group.Go(func() {
			for j := range 8 {
				response, _, err := d.Call(in(t, request.DefaultWorkspace), orchv1.ArtifactService_CreateArtifact_FullMethodName,
					&orchv1.CreateArtifactRequest{Artifact: &orchv1.ArtifactCreate{Key: proto.String("k"), Data: []byte(fmt.Sprint(i*8 + j))}})
				if err == nil && j%2 == 0 {
					_, _, err = d.Call(in(t, request.DefaultWorkspace), orchv1.ArtifactService_DeleteArtifact_FullMethodName,
						&orchv1.DeleteArtifactRequest{Id: response.(*orchv1.Artifact).GetId()})
				}
				if err != nil {
					failures <- err
				}
			}
		})
	}
	group.Wait()
	close(failures)
	for err := range failures {
		require.NoError(t, err)
	}
	newest := call[*orchv1.Artifact](d, orchv1.ArtifactService_ReadLatestArtifact_FullMethodName, &orchv1.ReadLatestArtifactRequest{Key: "k"})
	eventually(t, func() bool { return d.latest(nil)["k"] == string(newest.GetData()) }, "the key shows the newest artifact")
	count := call[*orchv1.CountResponse](d, orchv1.ArtifactService_CountArtifacts_FullMethodName, &orchv1.CountArtifactsRequest{})
	require.Equal(t, int64(32), count.GetCount())
}

func TestArtifactsAreFilteredAndSorted(t *testing.T) {
	t.Parallel()
	d := newDomain(t)
	flow := d.flow("etl")
	run := d.run(flow, func(c *orchv1.FlowRunCreate) { c.Name = "mine" })
	task := d.task(run, "t")
	d.artifact("table", "1", func(c *orchv1.ArtifactCreate) {
		c.Type, c.FlowRunId = proto.String("table"), proto.String(run.GetId())
	})
	d.artifact("text", "2", func(c *orchv1.ArtifactCreate) {
		c.Type, c.TaskRunId = proto.String("markdown"), proto.String(task.GetId())
	})
	d.artifact("", "3", func(c *orchv1.ArtifactCreate) { c.TaskRunId = proto.String(uuid.NewString()) })
	data := func(q *orchv1.ArtifactQuery) string {
		var out []string
		for _, a := range call[*orchv1.ArtifactList](d, orchv1.ArtifactService_ReadArtifacts_FullMethodName,
			&orchv1.ReadArtifactsRequest{Query: q}).GetArtifacts() {
			out = append(out, string(a.GetData()))
		}
		return strings.Join(out, " ")
	}
	require.Equal(t, "3 2 1", data(nil))
	for sort, want := range map[orchv1.ArtifactSort]string{
		orchv1.ArtifactSort_ARTIFACT_SORT_KEY_ASC: "3 1 2", orchv1.ArtifactSort_ARTIFACT_SORT_KEY_DESC: "2 1 3",
		orchv1.ArtifactSort_ARTIFACT_SORT_CREATED_DESC: "3 2 1", orchv1.ArtifactSort_ARTIFACT_SORT_UPDATED_DESC: "3 2 1",
	} {
		require.Equal(t, want, data(&orchv1.ArtifactQuery{Sort: sort}), sort.String())
	}
	vocab := func(list ...string) *orchv1.StringList { return &orchv1.StringList{Values: list} }
	flows := &orchv1.FlowFilter{Name: &orchv1.NameFilter{Any_: vocab("etl")}}
	runs := &orchv1.FlowRunFilter{Name: &orchv1.NameFilter{Any_: vocab("mine")}}
	tasks := &orchv1.TaskRunFilter{Id: &orchv1.AnyUuidFilter{Any_: &orchv1.UuidList{Values: []string{task.GetId()}}}}
	for i, c := range []struct {
		q    *orchv1.ArtifactQuery
		want string
	}{
		{&orchv1.ArtifactQuery{Artifacts: &orchv1.ArtifactFilter{Key: &orchv1.KeyFilter{Exists_: proto.Bool(true)}}}, "2 1"},
		{&orchv1.ArtifactQuery{Artifacts: &orchv1.ArtifactFilter{Key: &orchv1.KeyFilter{Exists_: proto.Bool(false)}}}, "3"},
		{&orchv1.ArtifactQuery{Artifacts: &orchv1.ArtifactFilter{Key: &orchv1.KeyFilter{Like_: proto.String("TAB")}}}, "1"},
		{&orchv1.ArtifactQuery{Artifacts: &orchv1.ArtifactFilter{Type: &orchv1.StringFilter{NotAny_: vocab("table")}}}, "2"},
		{&orchv1.ArtifactQuery{Artifacts: &orchv1.ArtifactFilter{Type: &orchv1.StringFilter{Any_: vocab()}}}, ""},
		{&orchv1.ArtifactQuery{Artifacts: &orchv1.ArtifactFilter{FlowRunId: &orchv1.AnyUuidFilter{Any_: &orchv1.UuidList{Values: []string{run.GetId()}}}}}, "1"},
		{&orchv1.ArtifactQuery{FlowRuns: runs}, "1"},
		{&orchv1.ArtifactQuery{Flows: flows}, "1"},
		{&orchv1.ArtifactQuery{TaskRuns: tasks}, "2"},
		{&orchv1.ArtifactQuery{TaskRuns: tasks, Flows: flows}, ""},
		{&orchv1.ArtifactQuery{Flows: &orchv1.FlowFilter{Name: &orchv1.NameFilter{Any_: vocab("none")}}}, ""},
	} {
		t.Run(c.want, func(t *testing.T) {
			require.Equal(t, c.want, data(c.q), i)
		})
	}
	require.Equal(t, map[string]string{"table": "1"}, d.latest(&orchv1.ArtifactCollectionQuery{Flows: flows, FlowRuns: runs}))
	require.Equal(t, map[string]string{"text": "2"}, d.latest(&orchv1.ArtifactCollectionQuery{TaskRuns: tasks}))
	keys := &orchv1.ArtifactCollectionFilter{Type: &orchv1.StringFilter{Any_: vocab("table")}}
	require.Equal(t, int64(1), call[*orchv1.CountResponse](d, orchv1.ArtifactService_CountLatestArtifacts_FullMethodName,
		&orchv1.CountLatestArtifactsRequest{Query: &orchv1.ArtifactCollectionCountQuery{Artifacts: keys}}).GetCount())
	list := call[*orchv1.ArtifactList](d, orchv1.ArtifactService_ListArtifacts_FullMethodName,
		&orchv1.ListArtifactsRequest{Limit: &orchv1.PageLimit{Value: 1}, Offset: 2}).GetArtifacts()
	require.Len(t, list, 1)
	require.Equal(t, "1", string(list[0].GetData()))
	_, _, err := tryIn[*orchv1.Artifact](d, uuid.New(), orchv1.ArtifactService_ReadArtifact_FullMethodName,
		&orchv1.ReadArtifactRequest{Id: list[0].GetId()})
	code, text := status(err)
	require.Equal(t, http.StatusNotFound, code)
	require.Equal(t, "Artifact not found.", text)
}

func TestArtifactsGoWithTheirFlowRun(t *testing.T) {
	t.Parallel()
	d := newDomain(t)
	run := d.run(d.flow("etl"))
	d.artifact("k", "1")
	d.artifact("k", "2", func(c *orchv1.ArtifactCreate) { c.FlowRunId = proto.String(run.GetId()) })
	_, err := tryIgnored(d, orchv1.FlowRunService_DeleteFlowRun_FullMethodName, &orchv1.DeleteFlowRunRequest{Id: run.GetId()})
	require.NoError(t, err)
	eventually(t, func() bool { return d.latest(nil)["k"] == "1" }, "the artifact that is left is the latest")
}

// TestArtifactsThatClientsCannotRead: one of them would spoil every list of artifacts for all clients.
func TestArtifactsThatClientsCannotRead(t *testing.T) {
	t.Parallel()
	d := newDomain(t)
	for _, key := range []string{"Capitals", "under_score", "a b", "ü"} {
		_, _, err := try[*orchv1.Artifact](d, orchv1.ArtifactService_CreateArtifact_FullMethodName,
			&orchv1.CreateArtifactRequest{Artifact: &orchv1.ArtifactCreate{Key: &key}})
		code, _ := status(err)
		require.Equal(t, 422, code, key)
		_, _, err = try[*orchv1.Artifact](d, orchv1.ArtifactService_ReplaceArtifact_FullMethodName,
			&orchv1.ReplaceArtifactRequest{Id: uuid.NewString(), Artifact: &orchv1.ArtifactCreate{Key: &key}})
		code, _ = status(err)
		require.Equal(t, 422, code, key)
	}
}

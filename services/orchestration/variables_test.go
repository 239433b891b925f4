package orchestration_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/orch-project/orch/pkg/rpc"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

func (d *domain) tryVariable(name, value string, tags ...string) (*orchv1.Variable, rpc.Reply, error) {
	create := &orchv1.VariableCreate{Name: name, Tags: tags}
	if value != "null" {
		create.Value = []byte(value)
	}
	return try[*orchv1.Variable](d, orchv1.VariableService_CreateVariable_FullMethodName, &orchv1.CreateVariableRequest{Variable: create})
}

func (d *domain) variable(name, value string, tags ...string) *orchv1.Variable {
	d.t.Helper()
	variable, _, err := d.tryVariable(name, value, tags...)
	require.NoError(d.t, err)
	return variable
}

func (d *domain) tryReadVariable(name string) (*orchv1.Variable, error) {
	variable, _, err := try[*orchv1.Variable](d, orchv1.VariableService_ReadVariableByName_FullMethodName,
		&orchv1.ReadVariableByNameRequest{Name: name})
	return variable, err
}

// happened waits for the life-cycle event of a resource.
func (d *domain) happened(event, resource string) {
	d.t.Helper()
	eventually(d.t, func() bool {
		return d.events(&orchv1.EventFilter{
			Event:    &orchv1.EventNameFilter{Name: &orchv1.StringList{Values: []string{event}}},
			Resource: &orchv1.EventResourceFilter{Id: &orchv1.StringList{Values: []string{resource}}},
		}).GetTotal() > 0
	}, event)
}

func TestVariableIsKnownByNameAndID(t *testing.T) {
	t.Parallel()
	d := newDomain(t)
	for name, value := range map[string]string{
		"text": `"x"`, "number": "12345678901234567890.10", "object": `{"$k": [1, 2.0, null]}`, "nothing": "null",
		"with-dash_and_underscore": "true",
	} {
		created := d.variable(name, value, "a")
		byName, err := d.tryReadVariable(name)
		require.NoError(t, err)
		require.True(t, proto.Equal(created, byName))
		byID := call[*orchv1.Variable](d, orchv1.VariableService_ReadVariable_FullMethodName, &orchv1.ReadVariableRequest{Id: created.GetId()})
		require.True(t, proto.Equal(created, byID))
		if value == "null" {
			require.Nil(t, byName.Value)
		} else {
			require.Equal(t, value, string(byName.GetValue()))
		}
	}
	_, err := d.tryReadVariable("unknown")
	code, text := status(err)
	require.Equal(t, http.StatusNotFound, code)
	require.Equal(t, "Variable not found.", text)
}

// TestVariablesThatClientsCannotRead: one of them would spoil every list of variables for all clients.
func TestVariablesThatClientsCannotRead(t *testing.T) {
	t.Parallel()
	d := newDomain(t)
	kept := d.variable("kept", `"x"`)
	long := func(n int) string { return `"` + strings.Repeat("x", n-2) + `"` }
	for _, c := range []struct{ name, value string }{
		{"With capitals", "1"}, {"a.b", "1"}, {"ü", "1"}, {"$a", "1"}, {"a\x00", "1"}, {"long", long(5001)},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, _, err := d.tryVariable(c.name, c.value)
			code, _ := status(err)
			require.Equal(t, 422, code, c.name)
			_, _, err = try[*orchv1.Variable](d, orchv1.VariableService_ReplaceVariable_FullMethodName,
				&orchv1.ReplaceVariableRequest{Id: uuid.NewString(), Variable: &orchv1.VariableCreate{Name: c.name, Value: []byte(c.value)}})
			code, _ = status(err)
			require.Equal(t, 422, code, c.name)
			update := &orchv1.VariableUpdate{Name: &c.name, Value: []byte(c.value)}
			_, _, err = try[*emptypb.Empty](d, orchv1.VariableService_UpdateVariable_FullMethodName,
				&orchv1.UpdateVariableRequest{Id: kept.GetId(), Variable: update, UpdateMask: sentFields(update)})
			code, _ = status(err)
			require.Equal(t, 422, code, c.name)
		})
	}
	d.variable("long", long(5000))
	d.variable("spaced", "["+strings.Repeat(" ", 5000)+"1]")
}

func TestVariableNameIsTakenOnce(t *testing.T) {
	t.Parallel()
	d := newDomain(t)
	first := d.variable("once", "1")
	_, _, err := d.tryVariable("once", "2")
	code, text := status(err)
	require.Equal(t, http.StatusConflict, code)
	require.Equal(t, "A variable with the name 'once' already exists.", text)
	_, err = tryIgnored(d, orchv1.VariableService_DeleteVariable_FullMethodName, &orchv1.DeleteVariableRequest{Id: first.GetId()})
	require.NoError(t, err)
	d.variable("once", "3") // The name is free at once.
	d.happened("orch.variable.created", "orch.variable."+first.GetId())
	d.happened("orch.variable.deleted", "orch.variable."+first.GetId())
}

// tryIgnored calls a method whose answer says nothing.
func tryIgnored(d *domain, method string, r proto.Message) (*emptypb.Empty, error) {
	answer, _, err := try[*emptypb.Empty](d, method, r)
	return answer, err
}

func TestVariableKeepsWhatIsNotSent(t *testing.T) {
	t.Parallel()
	d := newDomain(t)
	variable := d.variable("a", `"x"`, "tag")
	update := func(u *orchv1.VariableUpdate, more ...string) error {
		_, err := tryIgnored(d, orchv1.VariableService_UpdateVariableByName_FullMethodName,
			&orchv1.UpdateVariableByNameRequest{Name: "a", Variable: u, UpdateMask: sentFields(u, more...)})
		return err
	}
	require.NoError(t, update(&orchv1.VariableUpdate{Value: []byte("[1]")}))
	read, err := d.tryReadVariable("a")
	require.NoError(t, err)
	require.Equal(t, "[1]", string(read.GetValue()))
	require.Equal(t, []string{"tag"}, read.GetTags())
	d.happened("orch.variable.updated", "orch.variable."+variable.GetId())

	require.NoError(t, update(&orchv1.VariableUpdate{}, "value", "tags", "name"))
	read, err = d.tryReadVariable("a")
	require.NoError(t, err)
	require.Nil(t, read.Value)
	require.Empty(t, read.GetTags())

	d.variable("b", "1")
	code, _ := status(update(&orchv1.VariableUpdate{Name: proto.String("b")}))
	require.Equal(t, http.StatusConflict, code)
	require.NoError(t, update(&orchv1.VariableUpdate{Name: proto.String("c")}))
	code, _ = status(update(&orchv1.VariableUpdate{}))
	require.Equal(t, http.StatusNotFound, code)
	_, err = tryIgnored(d, orchv1.VariableService_DeleteVariableByName_FullMethodName, &orchv1.DeleteVariableByNameRequest{Name: "c"})
	require.NoError(t, err)
	_, err = tryIgnored(d, orchv1.VariableService_DeleteVariableByName_FullMethodName, &orchv1.DeleteVariableByNameRequest{Name: "c"})
	code, _ = status(err)
	require.Equal(t, http.StatusNotFound, code)
}

func TestVariableIsReplacedOrCreated(t *testing.T) {
	t.Parallel()
	d := newDomain(t)
	id := uuid.NewString()
	put := func(name, value string) (*orchv1.Variable, rpc.Reply, error) {
		return try[*orchv1.Variable](d, orchv1.VariableService_ReplaceVariable_FullMethodName,
			&orchv1.ReplaceVariableRequest{Id: id, Variable: &orchv1.VariableCreate{Name: name, Value: []byte(value)}})
	}
	created, reply, err := put("v", "1")
	require.NoError(t, err)
	require.Equal(t, http.StatusCreated, reply.Status)
	require.Equal(t, id, created.GetId())
	replaced, reply, err := put("w", "2")
	require.NoError(t, err)
	require.NotEqual(t, http.StatusCreated, reply.Status)
	require.Equal(t, created.GetCreated().AsTime(), replaced.GetCreated().AsTime())
	_, err = d.tryReadVariable("v")
	require.Error(t, err)
	d.variable("taken", "1")
	_, _, err = put("taken", "2")
	code, _ := status(err)
	require.Equal(t, http.StatusConflict, code)
}

func TestVariablesAreFilteredAndSorted(t *testing.T) {
	t.Parallel()
	d := newDomain(t)
	d.variable("b1", "1", "x", "y")
	d.variable("a1", "1", "x")
	d.variable("a2", "1")
	names := func(q *orchv1.VariableQuery) string {
		var out []string
		for _, v := range call[*orchv1.VariableList](d, orchv1.VariableService_ReadVariables_FullMethodName,
			&orchv1.ReadVariablesRequest{Query: q}).GetVariables() {
			out = append(out, v.GetName())
		}
		return strings.Join(out, " ")
	}
	require.Equal(t, "a1 a2 b1", names(nil))
	for sort, want := range map[orchv1.VariableSort]string{
		orchv1.VariableSort_VARIABLE_SORT_NAME_DESC: "b1 a2 a1", orchv1.VariableSort_VARIABLE_SORT_CREATED_DESC: "a2 a1 b1",
		orchv1.VariableSort_VARIABLE_SORT_UPDATED_DESC: "a2 a1 b1",
	} {
		require.Equal(t, want, names(&orchv1.VariableQuery{Sort: sort}))
	}
	all := func(tags ...string) *orchv1.AllTagsFilter {
		return &orchv1.AllTagsFilter{All_: &orchv1.AllOfList{Values: tags}}
	}
	for _, c := range []struct {
		filter *orchv1.VariableFilter
		want   string
	}{
		{&orchv1.VariableFilter{Name: &orchv1.NameFilter{Like_: proto.String("A")}}, "a1 a2"},
		{&orchv1.VariableFilter{Name: &orchv1.NameFilter{Any_: &orchv1.StringList{Values: []string{"b1"}}}}, "b1"},
		{&orchv1.VariableFilter{Name: &orchv1.NameFilter{Any_: &orchv1.StringList{}}}, ""},
		{&orchv1.VariableFilter{Tags: all("x")}, "a1 b1"},
		{&orchv1.VariableFilter{Tags: all("x", "y")}, "b1"},
		{&orchv1.VariableFilter{Tags: &orchv1.AllTagsFilter{IsNull_: proto.Bool(true)}}, "a2"},
	} {
		t.Run(c.want, func(t *testing.T) {
			require.Equal(t, c.want, names(&orchv1.VariableQuery{Variables: c.filter}))
			count := call[*orchv1.CountResponse](d, orchv1.VariableService_CountVariables_FullMethodName,
				&orchv1.CountVariablesRequest{Query: &orchv1.VariableCountQuery{Variables: c.filter}}).GetCount()
			require.Len(t, strings.Fields(c.want), int(count))
		})
	}
	list := call[*orchv1.VariableList](d, orchv1.VariableService_ListVariables_FullMethodName,
		&orchv1.ListVariablesRequest{Limit: &orchv1.PageLimit{Value: 1}, Offset: 1}).GetVariables()
	require.Len(t, list, 1)
	require.Equal(t, "a2", list[0].GetName())
}

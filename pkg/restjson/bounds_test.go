package restjson_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/restjson"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// TestFreeJSONIsBoundedByItsCompactText: white space does not count, neither for the bound nor against it.
func TestFreeJSONIsBoundedByItsCompactText(t *testing.T) {
	t.Parallel()
	const most = 1 << 20
	body := func(size int) string {
		return fmt.Sprintf(`{"type": "COMPLETED", "data": [ "%s" ]}`, strings.Repeat("a", size-len(`[""]`)))
	}
	state := &orchv1.StateCreate{}
	require.NoError(t, restjson.Unmarshal([]byte(body(most)), state))
	require.Len(t, state.GetData(), most)
	err := restjson.AsErrors(restjson.Unmarshal([]byte(body(most+1)), &orchv1.StateCreate{}))
	require.NotNil(t, err)
	require.Len(t, err.List, 1)
	require.Equal(t, "value_error", err.List[0].GetType())
	require.Equal(t, "body.data: Value error, the JSON must have at most 1048576 bytes, not 1048577", err.Error())
}

// TestKeysOfMapsAreBounded in characters, not bytes.
func TestKeysOfMapsAreBounded(t *testing.T) {
	t.Parallel()
	body := func(key int) []byte {
		return fmt.Appendf(nil, `{"name": "f", "labels": {"%s": "v"}}`, strings.Repeat("é", key))
	}
	require.NoError(t, restjson.Unmarshal(body(250), &orchv1.FlowCreate{}))
	err := restjson.AsErrors(restjson.Unmarshal(body(251), &orchv1.FlowCreate{}))
	require.NotNil(t, err)
	require.Len(t, err.List, 1)
	require.Equal(t, "string_too_long", err.List[0].GetType())
	require.Equal(t, "[key]", err.List[0].GetLoc()[3].GetKey())
}

// TestErrorsTellTheViolatedRule as the reference does: "ctx" has the rule's parameters in the type of the field.
func TestErrorsTellTheViolatedRule(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		body string
		want string
	}{
		"greater or equal": {`{"name": "p", "concurrency_limit": -1}`, `{"ge":0}`},
		"pattern":          {`{"name": "a/b"}`, `{"pattern":"^[^/%&><]+$"}`},
		"length":           {`{"name": "` + strings.Repeat("a", 501) + `"}`, `{"max_length":500}`},
		"no rule":          {`{}`, ``},
		"syntax":           {`{"name": }`, `{"error":"unexpected character"}`},
	} {
		t.Run(name, func(t *testing.T) {
			err := restjson.AsErrors(restjson.Unmarshal([]byte(c.body), &orchv1.WorkPoolCreate{}))
			require.NotNil(t, err, name)
			if name == "syntax" {
				require.Contains(t, string(err.List[0].GetCtx()), `{"error":"`)
				return
			}
			require.Equal(t, c.want, string(err.List[0].GetCtx()), name)
		})
	}
	for name, c := range map[string]struct{ body, want string }{
		"enum":     {`{"type": "NOPE"}`, `"expected":"'SCHEDULED'`},
		"datetime": {`{"type": "RUNNING", "state_details": {"scheduled_time": "soon"}}`, `"error":"`},
		"uuid":     {`{"type": "RUNNING", "state_details": {"flow_run_id": "7"}}`, `"error":"`},
	} {
		t.Run(name, func(t *testing.T) {
			err := restjson.AsErrors(restjson.Unmarshal([]byte(c.body), &orchv1.StateCreate{}))
			require.NotNil(t, err, name)
			require.Contains(t, string(err.List[0].GetCtx()), c.want, name)
		})
	}
}

func TestErrorsOfValidatorsHaveAnEmptyContext(t *testing.T) {
	t.Parallel()
	got := restjson.AppendErrors(nil, []*orchv1.FieldError{{Type: "value_error", Msg: "Value error, no"}, {Type: "missing", Msg: "Field required"}})
	require.Equal(t, `[{"type":"value_error","loc":[],"msg":"Value error, no","ctx":{"error":{}}},{"type":"missing","loc":[],"msg":"Field required"}]`, string(got))
}

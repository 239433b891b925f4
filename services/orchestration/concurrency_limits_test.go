package orchestration_test

import (
	"net/http"
	"strconv"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/orch-project/orch/pkg/rpc"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

func (d *domain) limit(name string, slots int64, edits ...func(*orchv1.ConcurrencyLimitV2Create)) *orchv1.ConcurrencyLimitV2 {
	d.t.Helper()
	create := &orchv1.ConcurrencyLimitV2Create{Active: true, Name: name, Limit: slots}
	for _, edit := range edits {
		edit(create)
	}
	return call[*orchv1.ConcurrencyLimitV2](d, orchv1.ConcurrencyLimitV2Service_CreateConcurrencyLimitV2_FullMethodName,
		&orchv1.CreateConcurrencyLimitV2Request{ConcurrencyLimit: create})
}

func (d *domain) readLimit(idOrName string) *orchv1.DeploymentConcurrencyLimit {
	d.t.Helper()
	return call[*orchv1.DeploymentConcurrencyLimit](d, orchv1.ConcurrencyLimitV2Service_ReadConcurrencyLimitV2_FullMethodName,
		&orchv1.ReadConcurrencyLimitV2Request{IdOrName: idOrName})
}

func (d *domain) increment(slots int64, names ...string) (*orchv1.MinimalConcurrencyLimitList, error) {
	list, _, err := try[*orchv1.MinimalConcurrencyLimitList](d, orchv1.ConcurrencyLimitV2Service_BulkIncrementActiveSlots_FullMethodName,
		&orchv1.BulkIncrementActiveSlotsRequest{Increment: &orchv1.ConcurrencySlotsIncrement{Slots: slots, Names: names}})
	return list, err
}

func (d *domain) lease(names ...string) (*orchv1.ConcurrencyLimitWithLeaseResponse, error) {
	leased, _, err := try[*orchv1.ConcurrencyLimitWithLeaseResponse](d, orchv1.ConcurrencyLimitV2Service_BulkIncrementActiveSlotsWithLease_FullMethodName,
		&orchv1.BulkIncrementActiveSlotsWithLeaseRequest{Increment: &orchv1.ConcurrencySlotsIncrementWithLease{
			Slots: 1, Names: names, LeaseDuration: 60,
			Holder: &orchv1.ConcurrencyLeaseHolder{Type: orchv1.ConcurrencyHolderType_CONCURRENCY_HOLDER_TYPE_TASK_RUN, Id: uuid.NewString()},
		}})
	return leased, err
}

func (d *domain) renew(lease string) error {
	_, _, err := try[*emptypb.Empty](d, orchv1.ConcurrencyLimitV2Service_RenewConcurrencyLease_FullMethodName,
		&orchv1.RenewConcurrencyLeaseRequest{LeaseId: lease, Renewal: &orchv1.ConcurrencyLeaseRenewal{LeaseDuration: 60}})
	return err
}

func (d *domain) endLease(lease string) {
	d.t.Helper()
	call[*emptypb.Empty](d, orchv1.ConcurrencyLimitV2Service_BulkDecrementActiveSlotsWithLease_FullMethodName,
		&orchv1.BulkDecrementActiveSlotsWithLeaseRequest{Decrement: &orchv1.ConcurrencySlotsDecrementWithLease{LeaseId: lease}})
}

func retryAfter(t *testing.T, err error) float64 {
	t.Helper()
	seconds, parseErr := strconv.ParseFloat(rpc.HTTPError(err).GetHeaders()["Retry-After"], 64)
	require.NoError(t, parseErr)
	return seconds
}

func TestConcurrencyLimits(t *testing.T) {
	t.Parallel()
	d := newDomain(t)
	limit := d.limit("a", 2)
	require.InDelta(t, 2.0, limit.GetAvgSlotOccupancySeconds(), 1e-9)
	require.Equal(t, limit.GetId(), d.readLimit("a").GetId())
	require.Equal(t, "a", d.readLimit(limit.GetId()).GetName())

	_, _, err := try[*orchv1.ConcurrencyLimitV2](d, orchv1.ConcurrencyLimitV2Service_CreateConcurrencyLimitV2_FullMethodName,
		&orchv1.CreateConcurrencyLimitV2Request{ConcurrencyLimit: &orchv1.ConcurrencyLimitV2Create{Name: "a", Limit: 1}})
	code, _ := status(err)
	require.Equal(t, http.StatusConflict, code)

	// Unknown names count for nothing.
	taken, err := d.increment(2, "a", "unknown")
	require.NoError(t, err)
	require.Len(t, taken.GetLimits(), 1)
	require.Equal(t, int64(2), d.readLimit("a").GetActiveSlots())
	taken, err = d.increment(2, "unknown")
	require.NoError(t, err)
	require.Empty(t, taken.GetLimits())

	_, err = d.increment(3, "a")
	code, text := status(err)
	require.Equal(t, http.StatusUnprocessableEntity, code)
	require.Equal(t, "Slots requested is greater than the limit", text)

	_, err = d.increment(1, "a")
	code, text = status(err)
	require.Equal(t, http.StatusLocked, code)
	require.Equal(t, "Locked", text)
	require.InDelta(t, 0.125, retryAfter(t, err), 0.04)

	call[*orchv1.MinimalConcurrencyLimitList](d, orchv1.ConcurrencyLimitV2Service_BulkDecrementActiveSlots_FullMethodName,
		&orchv1.BulkDecrementActiveSlotsRequest{Decrement: &orchv1.ConcurrencySlotsDecrement{Slots: 9, Names: []string{"a"}, OccupancySeconds: new(18.0)}})
	require.Zero(t, d.readLimit("a").GetActiveSlots())

	update := func(u *orchv1.ConcurrencyLimitV2Update) {
		call[*emptypb.Empty](d, orchv1.ConcurrencyLimitV2Service_UpdateConcurrencyLimitV2_FullMethodName,
			&orchv1.UpdateConcurrencyLimitV2Request{IdOrName: "a", ConcurrencyLimit: u})
	}
	update(&orchv1.ConcurrencyLimitV2Update{Limit: new(int64(5)), ActiveSlots: new(int64(4))})
	require.Equal(t, int64(5), d.readLimit("a").GetLimit())
	require.Equal(t, int64(4), d.readLimit("a").GetActiveSlots())
	update(&orchv1.ConcurrencyLimitV2Update{Active: new(false)})
	taken, err = d.increment(5, "a")
	require.NoError(t, err)
	require.Len(t, taken.GetLimits(), 1, "an inactive limit limits nothing, and the response lists it")
	require.Equal(t, int64(4), d.readLimit("a").GetActiveSlots())
	given := call[*orchv1.MinimalConcurrencyLimitList](d, orchv1.ConcurrencyLimitV2Service_BulkDecrementActiveSlots_FullMethodName,
		&orchv1.BulkDecrementActiveSlotsRequest{Decrement: &orchv1.ConcurrencySlotsDecrement{Slots: 1, Names: []string{"a"}}})
	require.Len(t, given.GetLimits(), 1, "nor is anything given back to it")
	require.Equal(t, int64(4), d.readLimit("a").GetActiveSlots())

	_, err = d.lease("b")
	require.NoError(t, err)
	d.limit("b", 1)
	list := call[*orchv1.GlobalConcurrencyLimitList](d, orchv1.ConcurrencyLimitV2Service_ReadAllConcurrencyLimitsV2_FullMethodName, &orchv1.ReadAllConcurrencyLimitsV2Request{})
	require.Len(t, list.GetLimits(), 2)
	_, _, err = try[*orchv1.MinimalConcurrencyLimitList](d, orchv1.ConcurrencyLimitV2Service_BulkIncrementActiveSlots_FullMethodName,
		&orchv1.BulkIncrementActiveSlotsRequest{Increment: &orchv1.ConcurrencySlotsIncrement{Slots: 1, Names: []string{"b"}, Mode: orchv1.ConcurrencyMode_CONCURRENCY_MODE_RATE_LIMIT}})
	code, text = status(err)
	require.Equal(t, http.StatusUnprocessableEntity, code, "a rate needs a decay")
	require.Contains(t, text, "'b'")
}

func TestSlotsOfNoLimits(t *testing.T) {
	t.Parallel()
	d := newDomain(t)
	d.limit("a", 1)
	taken, err := d.increment(1)
	require.NoError(t, err)
	require.Empty(t, taken.GetLimits())
	lease, err := d.lease()
	require.NoError(t, err)
	require.Empty(t, lease.GetLimits())
	given := call[*orchv1.MinimalConcurrencyLimitList](d, orchv1.ConcurrencyLimitV2Service_BulkDecrementActiveSlots_FullMethodName,
		&orchv1.BulkDecrementActiveSlotsRequest{Decrement: &orchv1.ConcurrencySlotsDecrement{Slots: 1}})
	require.Empty(t, given.GetLimits())
	require.Zero(t, d.readLimit("a").GetActiveSlots())
}

func TestConcurrencyLeases(t *testing.T) {
	t.Parallel()
	d := newDomain(t)
	d.limit("a", 1)
	lease, err := d.lease("a")
	require.NoError(t, err)
	require.Len(t, lease.GetLimits(), 1)
	require.NoError(t, d.renew(lease.GetLeaseId()))
	_, err = d.lease("a")
	code, _ := status(err)
	require.Equal(t, http.StatusLocked, code)
	d.endLease(lease.GetLeaseId())
	d.endLease(lease.GetLeaseId())
	d.endLease(uuid.NewString())
	require.Zero(t, d.readLimit("a").GetActiveSlots())
	code, _ = status(d.renew(lease.GetLeaseId()))
	require.Equal(t, http.StatusGone, code)

	// A lease outlives its limit.
	lease, err = d.lease("a")
	require.NoError(t, err)
	call[*emptypb.Empty](d, orchv1.ConcurrencyLimitV2Service_DeleteConcurrencyLimitV2_FullMethodName, &orchv1.DeleteConcurrencyLimitV2Request{IdOrName: "a"})
	_, _, err = try[*orchv1.DeploymentConcurrencyLimit](d, orchv1.ConcurrencyLimitV2Service_ReadConcurrencyLimitV2_FullMethodName, &orchv1.ReadConcurrencyLimitV2Request{IdOrName: "a"})
	code, text := status(err)
	require.Equal(t, http.StatusNotFound, code)
	require.Equal(t, "Concurrency Limit not found", text)
	eventually(t, func() bool { return d.renew(lease.GetLeaseId()) == nil }, "the lease lives on")
	d.endLease(lease.GetLeaseId())
}

func TestRateLimit(t *testing.T) {
	t.Parallel()
	d := newDomain(t)
	d.limit("r", 2, func(c *orchv1.ConcurrencyLimitV2Create) { c.SlotDecayPerSecond = 0.01 })
	take := func() error {
		_, _, err := try[*orchv1.MinimalConcurrencyLimitList](d, orchv1.ConcurrencyLimitV2Service_BulkIncrementActiveSlots_FullMethodName,
			&orchv1.BulkIncrementActiveSlotsRequest{Increment: &orchv1.ConcurrencySlotsIncrement{Slots: 1, Names: []string{"r"}, Mode: orchv1.ConcurrencyMode_CONCURRENCY_MODE_RATE_LIMIT}})
		return err
	}
	require.NoError(t, take())
	require.NoError(t, take())
	err := take()
	code, _ := status(err)
	require.Equal(t, http.StatusLocked, code)
	require.InDelta(t, 100, retryAfter(t, err), 31)
}

func TestTagLimits(t *testing.T) {
	t.Parallel()
	d := newDomain(t)
	create := func(tag string, n int64) (*orchv1.ConcurrencyLimit, rpc.Reply) {
		limit, reply, err := try[*orchv1.ConcurrencyLimit](d, orchv1.ConcurrencyLimitService_CreateConcurrencyLimit_FullMethodName,
			&orchv1.CreateConcurrencyLimitRequest{ConcurrencyLimit: &orchv1.ConcurrencyLimitCreate{Tag: tag, ConcurrencyLimit: n}})
		require.NoError(t, err)
		return limit, reply
	}
	limit, reply := create("x", 2)
	require.Equal(t, http.StatusCreated, reply.Status)
	again, reply := create("x", 1)
	require.NotEqual(t, http.StatusCreated, reply.Status)
	require.Equal(t, limit.GetId(), again.GetId())
	require.Equal(t, int64(1), again.GetConcurrencyLimit())
	require.Equal(t, "tag:x", d.readLimit(limit.GetId()).GetName())
	d.limit("other", 1)
	list := call[*orchv1.ConcurrencyLimitList](d, orchv1.ConcurrencyLimitService_ReadConcurrencyLimits_FullMethodName, &orchv1.ReadConcurrencyLimitsRequest{})
	require.Len(t, list.GetLimits(), 1)

	first, second := uuid.NewString(), uuid.NewString()
	take := func(run string, tags ...string) error {
		_, _, err := try[*orchv1.MinimalConcurrencyLimitList](d, orchv1.ConcurrencyLimitService_IncrementConcurrencyLimits_FullMethodName,
			&orchv1.IncrementConcurrencyLimitsRequest{Increment: &orchv1.ConcurrencyLimitsIncrement{Names: tags, TaskRunId: run}})
		return err
	}
	taken := call[*orchv1.MinimalConcurrencyLimitList](d, orchv1.ConcurrencyLimitService_IncrementConcurrencyLimits_FullMethodName,
		&orchv1.IncrementConcurrencyLimitsRequest{Increment: &orchv1.ConcurrencyLimitsIncrement{Names: []string{"x", "unknown"}, TaskRunId: first}})
	require.Len(t, taken.GetLimits(), 1)
	require.Equal(t, "x", taken.GetLimits()[0].GetName(), "the tag, as it was asked for")
	require.NoError(t, take(first, "x"), "it holds the slot already")
	code, text := status(take(second, "x"))
	require.Equal(t, http.StatusLocked, code)
	require.Equal(t, "Concurrency limit for the x tag has been reached", text)
	require.Positive(t, retryAfter(t, take(second, "x")))
	read := func() *orchv1.ConcurrencyLimit {
		return call[*orchv1.ConcurrencyLimit](d, orchv1.ConcurrencyLimitService_ReadConcurrencyLimitByTag_FullMethodName, &orchv1.ReadConcurrencyLimitByTagRequest{Tag: "x"})
	}
	require.Equal(t, []string{first}, read().GetActiveSlots())
	call[*orchv1.MinimalConcurrencyLimitList](d, orchv1.ConcurrencyLimitService_DecrementConcurrencyLimits_FullMethodName,
		&orchv1.DecrementConcurrencyLimitsRequest{Decrement: &orchv1.ConcurrencyLimitsDecrement{Names: []string{"x"}, TaskRunId: first}})
	require.Empty(t, read().GetActiveSlots())
	require.NoError(t, take(second, "x"))
	call[*emptypb.Empty](d, orchv1.ConcurrencyLimitService_ResetConcurrencyLimitByTag_FullMethodName,
		&orchv1.ResetConcurrencyLimitByTagRequest{Tag: "x", Override: &orchv1.ConcurrencyLimitReset{SlotOverride: &orchv1.UuidList{Values: []string{first}}}})
	require.Equal(t, []string{first}, read().GetActiveSlots())

	create("x", 0)
	code, text = status(take(second, "x"))
	require.Equal(t, http.StatusLocked, code)
	require.Equal(t, `The concurrency limit on tag "x" is 0 and will deadlock if the task tries to run again.`, text)
	require.Empty(t, rpc.HTTPError(take(second, "x")).GetHeaders(), "asking again is in vain")
	call[*emptypb.Empty](d, orchv1.ConcurrencyLimitService_DeleteConcurrencyLimit_FullMethodName, &orchv1.DeleteConcurrencyLimitRequest{Id: limit.GetId()})
	_, _, err := try[*emptypb.Empty](d, orchv1.ConcurrencyLimitService_DeleteConcurrencyLimitByTag_FullMethodName, &orchv1.DeleteConcurrencyLimitByTagRequest{Tag: "x"})
	code, text = status(err)
	require.Equal(t, http.StatusNotFound, code)
	require.Equal(t, "Concurrency limit not found", text)
}

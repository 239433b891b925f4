package rules

// MarkLatePolicy decides on the server's own proposal that a scheduled run is late.
var MarkLatePolicy = Policy{
	ensureOnlyScheduledMarkedLate,
	enforceSlotOnLate,
}

package rules

// MarkLatePolicy judges the server's own finding that a scheduled run is late.
var MarkLatePolicy = Policy{
	ensureOnlyScheduledMarkedLate,
	enforceSlotOnLate,
}

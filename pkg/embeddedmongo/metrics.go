package embeddedmongo

import "github.com/prometheus/client_golang/prometheus"

// Metrics describes compaction and size of a server's data directory at each scrape.
type Metrics struct {
	server *Server

	disk, debt, running, readAmplification *prometheus.Desc
	compactions, seconds, written, stalls  *prometheus.Desc
	building, indexed                      *prometheus.Desc
	keys, logged                           *prometheus.Desc
}

// NewMetrics returns a collector for a server, which must outlive it. Register it once.
func NewMetrics(s *Server) *Metrics {
	describe := func(name, help string) *prometheus.Desc { return prometheus.NewDesc(name, help, nil, nil) }
	return &Metrics{
		server: s,
		disk:   describe("orch_embedded_store_disk_bytes", "Size of the embedded store on disk: tables, log and what compactions are about to delete."),
		debt: describe("orch_embedded_store_compaction_debt_bytes",
			"Bytes that compactions have to rewrite until the embedded store is in its stable shape."),
		running: describe("orch_embedded_store_compactions_in_progress", "Compactions of the embedded store in progress."),
		readAmplification: describe("orch_embedded_store_read_amplification",
			"Tables of the embedded store that a read of one key consults at most."),
		compactions: describe("orch_embedded_store_compactions_total", "Compactions of the embedded store."),
		seconds:     describe("orch_embedded_store_compaction_seconds_total", "Duration of all compactions of the embedded store."),
		written:     describe("orch_embedded_store_compacted_bytes_total", "Bytes that flushes and compactions of the embedded store wrote."),
		stalls:      describe("orch_embedded_store_write_stalls_total", "Times that writes had to wait for flushes or compactions of the embedded store."),
		building:    describe("orch_embedded_store_index_builds_in_progress", "Index builds of the embedded store in progress."),
		indexed:     describe("orch_embedded_store_index_build_documents_total", "Documents that index builds of the embedded store have read."),
		keys:        describe("orch_embedded_store_written_keys_total", "Keys of documents and index entries that commands wrote or deleted."),
		logged:      describe("orch_embedded_store_log_bytes_total", "Bytes that the embedded store added to its log."),
	}
}

// Describe implements prometheus.Collector.
func (m *Metrics) Describe(out chan<- *prometheus.Desc) { prometheus.DescribeByCollect(m, out) }

// Collect implements prometheus.Collector.
func (m *Metrics) Collect(out chan<- prometheus.Metric) {
	now := m.server.engine.DB().Metrics()
	building, indexed := m.server.engine.IndexBuilds()
	var written uint64
	for _, level := range now.Levels {
		written += level.TableBytesFlushed + level.TableBytesCompacted
	}
	for _, sample := range []struct {
		desc  *prometheus.Desc
		kind  prometheus.ValueType
		value float64
	}{
		{m.disk, prometheus.GaugeValue, float64(now.DiskSpaceUsage())},
		{m.debt, prometheus.GaugeValue, float64(now.Compact.EstimatedDebt)},
		{m.running, prometheus.GaugeValue, float64(now.Compact.NumInProgress)},
		{m.readAmplification, prometheus.GaugeValue, float64(now.ReadAmp())},
		{m.compactions, prometheus.CounterValue, float64(now.Compact.Count)},
		{m.seconds, prometheus.CounterValue, now.Compact.Duration.Seconds()},
		{m.written, prometheus.CounterValue, float64(written)},
		{m.stalls, prometheus.CounterValue, float64(m.server.engine.Stalls())},
		{m.building, prometheus.GaugeValue, float64(building)},
		{m.indexed, prometheus.CounterValue, float64(indexed)},
		{m.keys, prometheus.CounterValue, float64(m.server.engine.WrittenKeys())},
		{m.logged, prometheus.CounterValue, float64(now.WAL.BytesIn)},
	} {
		out <- prometheus.MustNewConstMetric(sample.desc, sample.kind, sample.value)
	}
}

package broker

import (
	"context"
	"strconv"

	"github.com/prometheus/client_golang/prometheus"
)

// Metrics describes the streams and durable consumers at each scrape, and counts the dead letters of this process. One
// process of a cluster is enough to export the former.
type Metrics struct {
	conn *Conn

	streamMessages, streamBytes, streamMaxBytes *prometheus.Desc
	consumerPending, consumerUnacknowledged     *prometheus.Desc
	deadLetters, deadLettersDropped             *prometheus.Desc
	queueBytes, queueMaxBytes                   *prometheus.Desc
}

// NewMetrics returns a collector for a connection. Register it once.
func NewMetrics(c *Conn) *Metrics {
	describe := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc(name, help, labels, nil)
	}
	return &Metrics{
		conn:           c,
		streamMessages: describe("orch_broker_stream_messages", "Messages in a stream: frames of EVENTS, dead letters of DLQ, entries of buckets (KV_) and journals (JOURNAL_).", "stream"),
		streamBytes:    describe("orch_broker_stream_bytes", "Size of a stream.", "stream"),
		streamMaxBytes: describe("orch_broker_stream_max_bytes", "Size at which a stream refuses new messages.", "stream"),
		consumerPending: describe("orch_broker_consumer_pending_frames",
			"Consumer lag: frames that were not delivered to a durable consumer yet.", "durable"),
		consumerUnacknowledged: describe("orch_broker_consumer_unacknowledged_frames",
			"Frames that were delivered to a durable consumer and are not acknowledged.", "durable"),
		queueBytes:    describe("orch_broker_queue_bytes", "Size of the events that wait in this process to be published.", "shard"),
		queueMaxBytes: describe("orch_broker_queue_max_bytes", "Size at which the queue of events to publish refuses further events.", "shard"),
		deadLetters:   describe("orch_broker_dead_letters_total", "Dead letters that this process has written."),
		deadLettersDropped: describe("orch_broker_dead_letters_dropped_total",
			"Dead letters that this process has dropped because their stream was full."),
	}
}

// Describe implements prometheus.Collector.
func (m *Metrics) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{
		m.streamMessages, m.streamBytes, m.streamMaxBytes, m.consumerPending, m.consumerUnacknowledged, m.deadLetters, m.deadLettersDropped,
		m.queueBytes, m.queueMaxBytes,
	} {
		out <- d
	}
}

// Collect implements prometheus.Collector. While the broker is unreachable it reports the counters and the
// queues alone.
func (m *Metrics) Collect(out chan<- prometheus.Metric) {
	out <- prometheus.MustNewConstMetric(m.deadLetters, prometheus.CounterValue, float64(m.conn.deadLettered.Load()))
	out <- prometheus.MustNewConstMetric(m.deadLettersDropped, prometheus.CounterValue, float64(m.conn.deadLettersDropped.Load()))
	m.collectQueues(out)
	ctx, cancel := context.WithTimeout(m.conn.ctx, requestTimeout)
	defer cancel()
	status, err := m.conn.Status(ctx)
	if err != nil {
		return
	}
	gauge := func(d *prometheus.Desc, value uint64, label string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, float64(value), label)
	}
	for _, s := range status.Streams {
		gauge(m.streamMessages, s.Messages, s.Name)
		gauge(m.streamBytes, s.Bytes, s.Name)
		gauge(m.streamMaxBytes, s.MaxBytes, s.Name)
	}
	for _, s := range status.Consumers {
		gauge(m.consumerPending, s.Pending, s.Durable)
		gauge(m.consumerUnacknowledged, s.Unacknowledged, s.Durable)
	}
}

func (m *Metrics) collectQueues(out chan<- prometheus.Metric) {
	for shard, k := range m.conn.publisher.committers {
		label := strconv.Itoa(shard)
		out <- prometheus.MustNewConstMetric(m.queueBytes, prometheus.GaugeValue, float64(k.queuedBytes.Load()), label)
		out <- prometheus.MustNewConstMetric(m.queueMaxBytes, prometheus.GaugeValue, float64(k.cfg.QueueBytes), label)
	}
}

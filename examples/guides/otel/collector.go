package otel

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/tenantkit/tenantkit/auth"
)

// Latency is what sqlstore.Store.Stats and redisstore.Store.Stats return: Latency(store.Stats()).
type Latency struct {
	Bounds []time.Duration // of the buckets
	Counts []int64         // calls in each, and last those that took longer
	Sum    time.Duration
}

// Collector is a prometheus.Collector of what a server counts. Register it before the server serves: Guard.Stats
// counts from its first call on.
type Collector struct {
	Guard  *auth.Guard
	Stores map[string]func() Latency // by the name of the store

	// Tables are tables of a bounded size in this process, such as a signing.Memory: how much of it is used.
	Tables map[string]func() (used, limit int)
}

var (
	decisions = prometheus.NewDesc("auth_guard_decisions_total",
		"Decisions of the Guard. The detail is that of the fault, empty for admitted requests.", []string{"mechanism", "detail"}, nil)
	dropped = prometheus.NewDesc("auth_events_dropped_total", "Events for which the observer has panicked.", nil, nil)
	calls   = prometheus.NewDesc("auth_store_call_seconds", "How long calls of a store take.", []string{"store"}, nil)
	used    = prometheus.NewDesc("auth_table_used", "How much of a bounded table is used.", []string{"table"}, nil)
	limit   = prometheus.NewDesc("auth_table_limit", "How much a bounded table holds.", []string{"table"}, nil)
)

// Describe implements prometheus.Collector.
func (c *Collector) Describe(all chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{decisions, dropped, calls, used, limit} {
		all <- d
	}
	c.collect(func(prometheus.Metric) {}) // the first call of Stats
}

// Collect implements prometheus.Collector.
func (c *Collector) Collect(all chan<- prometheus.Metric) {
	c.collect(func(m prometheus.Metric) { all <- m })
}

func (c *Collector) collect(send func(prometheus.Metric)) {
	number := func(d *prometheus.Desc, kind prometheus.ValueType, value float64, labels ...string) {
		send(prometheus.MustNewConstMetric(d, kind, value, labels...))
	}
	stats := c.Guard.Stats()
	for mechanism, details := range stats.Decisions {
		for detail, n := range details {
			number(decisions, prometheus.CounterValue, float64(n), mechanism, detail)
		}
	}
	number(dropped, prometheus.CounterValue, float64(stats.Dropped))
	for name, of := range c.Stores {
		l := of()
		buckets, count := make(map[float64]uint64, len(l.Bounds)), uint64(0)
		for i, n := range l.Counts {
			if count += uint64(n); i < len(l.Bounds) {
				buckets[l.Bounds[i].Seconds()] = count
			}
		}
		send(prometheus.MustNewConstHistogram(calls, count, l.Sum.Seconds(), buckets, name))
	}
	for name, of := range c.Tables {
		n, most := of()
		number(used, prometheus.GaugeValue, float64(n), name)
		number(limit, prometheus.GaugeValue, float64(most), name)
	}
}

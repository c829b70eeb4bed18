package otel_test

import (
	"database/sql"
	"encoding/json"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	bridge "go.opentelemetry.io/contrib/bridges/prometheus"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	_ "modernc.org/sqlite"

	"github.com/tenantkit/tenantkit/auth/sqlstore"
	"github.com/tenantkit/tenantkit/examples/guides/otel"
	"github.com/tenantkit/tenantkit/signing"
	"github.com/tenantkit/tenantkit/token"
)

// newRegistry returns what Prometheus gets of a server after some requests.
func newRegistry(t *testing.T) *prometheus.Registry {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+t.TempDir()+"/auth.db?_pragma=journal_mode(wal)&_pragma=synchronous(full)")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	store, err := sqlstore.Open(t.Context(), db, sqlstore.SQLite, sqlstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	const room = 1000
	s, replays := newServer(t), signing.NewMemory(room)
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(&otel.Collector{
		Guard:  s.guard,
		Stores: map[string]func() otel.Latency{"sql": func() otel.Latency { return otel.Latency(store.Stats()) }},
		Tables: map[string]func() (used, limit int){
			"replays": func() (int, int) { return replays.Len(), room },
		},
	})
	s.ask("GET", "/acme/v2/notes")
	s.ask("GET", "/acme/v2/notes")
	s.ask("POST", "/acme/v2/notes")
	s.ask("GET", "/made-up/v2/notes")
	for range 3 {
		if _, err := store.Ledger().Spend(t.Context(), token.Record{ClientKey: "app", ID: "none"}); err == nil {
			t.Fatal("a token that was not issued is accepted")
		}
	}
	return registry
}

func TestCollector(t *testing.T) {
	registry := newRegistry(t)
	want := `
# HELP auth_guard_decisions_total Decisions of the Guard. The detail is that of the fault, empty for admitted requests.
# TYPE auth_guard_decisions_total counter
auth_guard_decisions_total{detail="",mechanism="session"} 2
auth_guard_decisions_total{detail="accessDenied.scope",mechanism="session"} 1
auth_guard_decisions_total{detail="notFound.env",mechanism=""} 1
# HELP auth_events_dropped_total Events for which the observer has panicked.
# TYPE auth_events_dropped_total counter
auth_events_dropped_total 0
# HELP auth_table_limit How much a bounded table holds.
# TYPE auth_table_limit gauge
auth_table_limit{table="replays"} 1000
# HELP auth_table_used How much of a bounded table is used.
# TYPE auth_table_used gauge
auth_table_used{table="replays"} 0
`
	if err := testutil.GatherAndCompare(registry, strings.NewReader(want),
		"auth_guard_decisions_total", "auth_events_dropped_total", "auth_table_limit", "auth_table_used"); err != nil {
		t.Error(err)
	}
	if problems, err := testutil.GatherAndLint(registry); err != nil || len(problems) != 0 {
		t.Errorf("%+v, %v", problems, err)
	}
}

func TestTheSameMetricsInOpenTelemetry(t *testing.T) {
	// A server passes WithProducer to its PeriodicReader, beside the exporter.
	reader := metric.NewManualReader(metric.WithProducer(bridge.NewMetricProducer(bridge.WithGatherer(newRegistry(t)))))
	provider := metric.NewMeterProvider(metric.WithReader(reader))
	defer provider.Shutdown(t.Context())
	var all metricdata.ResourceMetrics
	if err := reader.Collect(t.Context(), &all); err != nil {
		t.Fatal(err)
	}
	found := map[string]metricdata.Aggregation{}
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			found[m.Name] = m.Data
		}
	}
	decisions, _ := found["auth_guard_decisions_total"].(metricdata.Sum[float64])
	sum := 0.0
	for _, p := range decisions.DataPoints {
		sum += p.Value
	}
	if sum != 4 || !decisions.IsMonotonic {
		t.Errorf("decisions: %+v", decisions)
	}
	calls, _ := found["auth_store_call_seconds"].(metricdata.Histogram[float64])
	// Three calls of Open, and three uses: each is a look-up, and another one of why there is none.
	if len(calls.DataPoints) != 1 || calls.DataPoints[0].Count != 9 || calls.DataPoints[0].Sum <= 0 || len(calls.DataPoints[0].Bounds) != 12 {
		t.Errorf("calls: %+v", calls)
	}
}

// TestDashboard compares the queries of the dashboard with the metrics and their labels.
func TestDashboard(t *testing.T) {
	families, err := newRegistry(t).Gather()
	if err != nil {
		t.Fatal(err)
	}
	metrics, labels := map[string]string{}, map[string]bool{"le": true} // names of series, and their family
	for _, f := range families {
		metrics[f.GetName()] = f.GetName()
		if f.GetMetric()[0].GetHistogram() != nil {
			delete(metrics, f.GetName())
			for _, suffix := range []string{"_bucket", "_count", "_sum"} {
				metrics[f.GetName()+suffix] = f.GetName()
			}
		}
		for _, m := range f.GetMetric() {
			for _, l := range m.GetLabel() {
				labels[l.GetName()] = true
			}
		}
	}
	text, err := os.ReadFile("dashboard.json")
	if err != nil {
		t.Fatal(err)
	}
	var dashboard struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr, LegendFormat string }
		}
	}
	if err := json.Unmarshal(text, &dashboard); err != nil {
		t.Fatal(err)
	}
	shown := map[string]bool{}
	for _, p := range dashboard.Panels {
		for _, target := range p.Targets {
			names := regexp.MustCompile(`\bauth_\w+`).FindAllString(target.Expr, -1)
			for _, name := range names {
				if metrics[name] == "" {
					t.Errorf("%s: no metric %s", p.Title, name)
				}
				shown[metrics[name]] = true
			}
			used := regexp.MustCompile(`(\w+)(?:=~|!=|=)"`).FindAllStringSubmatch(target.Expr, -1)
			used = append(used, regexp.MustCompile(`{{(\w+)}}`).FindAllStringSubmatch(target.LegendFormat, -1)...)
			for _, by := range regexp.MustCompile(`by \(([^)]*)\)`).FindAllStringSubmatch(target.Expr, -1) {
				used = append(used, regexp.MustCompile(`(\w+)`).FindAllStringSubmatch(by[1], -1)...)
			}
			for _, label := range used {
				if !labels[label[1]] {
					t.Errorf("%s: no label %s", p.Title, label[1])
				}
			}
			if len(names) == 0 {
				t.Errorf("%s: %q has no metric", p.Title, target.Expr)
			}
		}
	}
	var all []string
	for _, f := range families {
		all = append(all, f.GetName())
	}
	if diff := cmp.Diff(all, slices.Sorted(maps.Keys(shown))); diff != "" {
		t.Errorf("what the panels show (-metrics +panels):\n%s", diff)
	}
}

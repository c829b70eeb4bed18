package otel_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/log"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/authtest"
	"github.com/tenantkit/tenantkit/examples/guides/otel"
	"github.com/tenantkit/tenantkit/scope"
)

// server is a Guard with an observer, and what the observer has reported so far.
type server struct {
	http.Handler
	reader *metric.ManualReader
	spans  *tracetest.SpanRecorder
	logs   *records
	guard  *auth.Guard
}

// broken is a Directory in which the look-up of the org "down" fails.
type broken struct{ *auth.Memory }

func (b broken) Org(ctx context.Context, code string) (*auth.Org, error) {
	if code == "down" {
		return nil, context.DeadlineExceeded
	}
	return b.Memory.Org(ctx, code)
}

func newServer(t *testing.T) *server {
	t.Helper()
	s := &server{reader: metric.NewManualReader(), spans: tracetest.NewSpanRecorder(), logs: new(records)}
	observer, err := otel.NewObserver(
		trace.NewTracerProvider(trace.WithSpanProcessor(s.spans)),
		metric.NewMeterProvider(metric.WithReader(s.reader)),
		log.NewLoggerProvider(log.WithProcessor(s.logs)))
	if err != nil {
		t.Fatal(err)
	}
	directory := new(auth.Memory)
	directory.PutOrg(auth.Org{Code: "acme"})
	reader, err := new(scope.Grammar).Compile("test", "object.read")
	if err != nil {
		t.Fatal(err)
	}
	guard := &auth.Guard{
		Roles:      auth.RolesLimit,
		BaseURL:    "https://api.example.com",
		Directory:  broken{directory},
		Mechanisms: []auth.Mechanism{authtest.As(auth.Principal{Account: "ann", Mechanism: "session", Scope: reader})},
		Observe:    observer.Observe,
	}
	s.guard = guard
	mux := guard.Mux()
	mux.HandleFunc("GET /notes", auth.Allow("object.read.c_note"), func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("POST /notes", auth.Allow("object.create.c_note"), func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("GET /notes/{id}", auth.Allow("object.read.c_note.{id}"), func(w http.ResponseWriter, r *http.Request) {
		auth.Fail(w, r, auth.ErrNotFound)
	})
	mux.HandleFunc("POST /ends", auth.Authenticated, func(_ http.ResponseWriter, r *http.Request) {
		auth.Emit(r.Context(), auth.Event{Verb: "ends.soon", Account: "ann", Token: "jti", Reason: "2026-01-17"})
	})
	s.Handler = mux
	return s
}

func (s *server) ask(method, path string) {
	s.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(method, path, nil))
}

func (s *server) metric(t *testing.T, name string) metricdata.Aggregation {
	t.Helper()
	var all metricdata.ResourceMetrics
	if err := s.reader.Collect(t.Context(), &all); err != nil {
		t.Fatal(err)
	}
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			if m.Name == name {
				return m.Data
			}
		}
	}
	t.Fatalf("no metric %s", name)
	return nil
}

func TestDecisionsAreCounted(t *testing.T) {
	s := newServer(t)
	s.ask("GET", "/acme/v2/notes")
	s.ask("GET", "/acme/v2/notes")
	s.ask("POST", "/acme/v2/notes")
	s.ask("GET", "/made-up/v2/notes")
	s.ask("GET", "/acme/v2/notes/000000000000000000000001")

	want := map[series]int64{
		{"session", "", "acme"}:               3,
		{"session", auth.DetailScope, "acme"}: 1,
		{"", auth.DetailUnknownOrg, ""}:       1, // unknown orgs make no series of their own
	}
	if diff := cmp.Diff(want, s.counts(t, "auth.duration")); diff != "" {
		t.Errorf("decisions (-want +got):\n%s", diff)
	}
	want = map[series]int64{{"session", auth.DetailNotFound, "acme"}: 1}
	if diff := cmp.Diff(want, s.counts(t, "auth.faults")); diff != "" {
		t.Errorf("faults of handlers (-want +got):\n%s", diff)
	}
}

type series struct{ Mechanism, Detail, Org string }

// counts returns the values of a counter.
func (s *server) counts(t *testing.T, name string) map[series]int64 {
	t.Helper()
	got := map[series]int64{}
	type point struct {
		attributes attribute.Set
		count      int64
	}
	var points []point
	switch data := s.metric(t, name).(type) {
	case metricdata.Sum[int64]:
		for _, p := range data.DataPoints {
			points = append(points, point{p.Attributes, p.Value})
		}
	case metricdata.Histogram[float64]:
		for _, p := range data.DataPoints {
			points = append(points, point{p.Attributes, int64(p.Count)})
		}
	}
	for _, p := range points {
		var of series
		for _, a := range p.attributes.ToSlice() {
			switch a.Key {
			case "auth.mechanism":
				of.Mechanism = a.Value.AsString()
			case "auth.detail":
				of.Detail = a.Value.AsString()
			case "auth.org":
				of.Org = a.Value.AsString()
			default:
				t.Errorf("attribute %s", a.Key)
			}
		}
		got[of] = p.count
	}
	return got
}

func TestDurationsAreSeconds(t *testing.T) {
	s := newServer(t)
	s.ask("GET", "/acme/v2/notes")
	points := s.metric(t, "auth.duration").(metricdata.Histogram[float64]).DataPoints
	if len(points) != 1 || points[0].Count != 1 || points[0].Sum <= 0 || points[0].Sum > 60 {
		t.Errorf("got %+v", points)
	}
}

func TestSpans(t *testing.T) {
	s := newServer(t)
	tracer := trace.NewTracerProvider().Tracer("outside")
	ctx, outside := tracer.Start(t.Context(), "GET")
	s.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/acme/v2/notes", nil).WithContext(ctx))
	s.ask("POST", "/acme/v2/notes")
	s.ask("GET", "/down/v2/notes")

	ended := s.spans.Ended()
	if len(ended) != 3 {
		t.Fatalf("%d spans", len(ended))
	}
	if parent := ended[0].Parent().SpanID(); parent != outside.SpanContext().SpanID() {
		t.Error("the span does not stand below the request's")
	}
	if !ended[0].EndTime().After(ended[0].StartTime()) {
		t.Error("the span takes no time")
	}
	for i, want := range []codes.Code{codes.Unset, codes.Unset, codes.Error} {
		if got := ended[i].Status().Code; got != want {
			t.Errorf("span %d: status %v, want %v", i, got, want)
		}
	}
}

// records keeps what is logged.
type records struct{ all []log.Record }

func (r *records) OnEmit(_ context.Context, one *log.Record) error {
	r.all = append(r.all, one.Clone())
	return nil
}

func (*records) Enabled(context.Context, log.EnabledParameters) bool { return true }

func (*records) Shutdown(context.Context) error   { return nil }
func (*records) ForceFlush(context.Context) error { return nil }

func TestLogs(t *testing.T) {
	s := newServer(t)
	tracer := trace.NewTracerProvider().Tracer("outside")
	ctx, outside := tracer.Start(t.Context(), "POST")
	s.ask("GET", "/acme/v2/notes") // nothing to say
	s.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("POST", "/acme/v2/notes", nil).WithContext(ctx))
	s.ask("POST", "/acme/v2/ends")
	if len(s.logs.all) != 2 {
		t.Fatalf("%d log records", len(s.logs.all))
	}
	rejected, verb := s.logs.all[0], s.logs.all[1]
	if rejected.Body().AsString() != auth.DetailScope || rejected.EventName() != "auth.rejected" || rejected.TraceID() != outside.SpanContext().TraceID() {
		t.Errorf("rejected: %v %v of the trace %v", rejected.EventName(), rejected.Body(), rejected.TraceID())
	}
	got := map[string]string{"body": verb.Body().AsString(), "name": verb.EventName()}
	verb.WalkAttributes(func(a attribute.KeyValue) bool {
		got[string(a.Key)] = a.Value.AsString()
		return true
	})
	want := map[string]string{"body": "ends.soon", "name": "auth.verb", "auth.org": "acme", "auth.account": "ann", "auth.token": "jti", "auth.actor": "ann",
		"auth.mechanism": "session", "auth.reason": "2026-01-17", "http.route": "POST /ends", "client.address": "192.0.2.1"}
	if diff := cmp.Diff(want, got); diff != "" || verb.Timestamp().IsZero() {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

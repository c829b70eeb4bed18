package otel_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/codes"
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
	s := &server{reader: metric.NewManualReader(), spans: tracetest.NewSpanRecorder()}
	observer, err := otel.NewObserver(
		trace.NewTracerProvider(trace.WithSpanProcessor(s.spans)),
		metric.NewMeterProvider(metric.WithReader(s.reader)))
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
	mux := guard.Mux()
	mux.HandleFunc("GET /notes", auth.Allow("object.read.c_note"), func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("POST /notes", auth.Allow("object.create.c_note"), func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("GET /notes/{id}", auth.Allow("object.read.c_note.{id}"), func(w http.ResponseWriter, r *http.Request) {
		auth.Fail(w, r, auth.ErrNotFound)
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
	if diff := cmp.Diff(want, s.counts(t, "auth.decisions")); diff != "" {
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
	for _, p := range s.metric(t, name).(metricdata.Sum[int64]).DataPoints {
		var of series
		for _, a := range p.Attributes.ToSlice() {
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
		got[of] = p.Value
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

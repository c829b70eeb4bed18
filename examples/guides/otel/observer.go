// Package otel shows a server to Prometheus and OpenTelemetry, in two halves. A server may have one of them.
//
// An Observer is for Guard.Observe. It makes a span and a sample of a histogram of each decision, and a log
// record of each verb, such as login.wrong, and each rejected request. A counter is for verbs. It costs microseconds a request, which waits for it: leave
// exporting to the SDK's batches. The span is a child of the span that a middleware outside the Guard has started.
//
// A Collector reads Guard.Stats and the Stats of stores when Prometheus asks, which costs a request some
// nanoseconds. It has no orgs. OpenTelemetry gets its metrics by the bridge of that project: see
// TestTheSameMetricsInOpenTelemetry. The dashboard for Grafana, dashboard.json, shows them.
//
// Metrics have few attributes, because each combination of their values is a series forever. Mechanism and
// detail come from fixed tables. The org is one that the Guard has found; an invented org code is not counted as
// an org. Only spans and logs have apps and accounts.
//
// A fault of a handler is not a decision. If the Guard allows a request and its handler then answers with
// auth.Fail, the counter auth.faults counts it, and the span has the attribute auth.handler. An alarm about
// rejected requests then does not ring for a handler's 404.
package otel

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/log"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/tenantkit/tenantkit/auth"
)

const name = "github.com/tenantkit/tenantkit/examples/guides/otel"

// Observer reports decisions to OpenTelemetry. It is safe for concurrent use.
type Observer struct {
	tracer   trace.Tracer
	logger   log.Logger
	verbs    metric.Int64Counter
	faults   metric.Int64Counter     // of handlers
	duration metric.Float64Histogram // of decisions, in seconds; its count is their number
}

// NewObserver creates the instruments. Set Guard.Observe to the Observe method of
// the result.
func NewObserver(spans trace.TracerProvider, meters metric.MeterProvider, logs log.LoggerProvider) (*Observer, error) {
	meter := meters.Meter(name)
	faults, err := meter.Int64Counter("auth.faults",
		metric.WithDescription("Faults of handlers, after the Guard allowed the request."), metric.WithUnit("{fault}"))
	if err != nil {
		return nil, err
	}
	verbs, err := meter.Int64Counter("auth.verbs",
		metric.WithDescription("What was done: auth.Verbs."), metric.WithUnit("{verb}"))
	if err != nil {
		return nil, err
	}
	// The default bounds are for milliseconds. A Guard takes microseconds, and its
	// stores may take half a second.
	duration, err := meter.Float64Histogram("auth.duration",
		metric.WithDescription("Time in the Guard up to the decision."), metric.WithUnit("s"),
		metric.WithExplicitBucketBoundaries(0.00001, 0.0001, 0.001, 0.005, 0.02, 0.1, 0.5))
	if err != nil {
		return nil, err
	}
	return &Observer{spans.Tracer(name), logs.Logger(name), verbs, faults, duration}, nil
}

// Observe is for Guard.Observe.
func (o *Observer) Observe(ctx context.Context, e auth.Event) {
	if e.Verb != "" || e.Detail != "" {
		o.log(ctx, e)
	}
	if e.Verb != "" {
		o.verbs.Add(ctx, max(e.Count, 1), metric.WithAttributes(attribute.String("auth.verb", e.Verb), attribute.String("auth.org", string(e.Org))))
		return
	}
	few := metric.WithAttributeSet(attribute.NewSet(
		attribute.String("auth.mechanism", e.Mechanism),
		attribute.String("auth.detail", e.Detail), // empty if allowed
		attribute.String("auth.org", string(e.Org)),
	))
	switch {
	case e.Handler && e.Detail == "": // it only says who called a Public route
	case e.Handler:
		o.faults.Add(ctx, 1, few)
	default:
		o.duration.Record(ctx, e.Took.Seconds(), few)
	}

	now := time.Now()
	_, span := o.tracer.Start(ctx, "auth.decision", trace.WithTimestamp(now.Add(-e.Took)), trace.WithAttributes(
		attribute.String("auth.mechanism", e.Mechanism),
		attribute.String("auth.detail", e.Detail),
		attribute.String("auth.org", string(e.Org)),
		attribute.String("auth.app", e.App),
		attribute.String("auth.account", e.Account),
		attribute.Bool("auth.allowed", e.Allowed),
		attribute.Bool("auth.handler", e.Handler),
	))
	if e.Err != nil {
		span.RecordError(e.Err)
	}
	// A refusal is not an error of the server. An error is a store that fails or is
	// full, or a failure that the Guard's table of details does not list.
	if e.Detail == auth.DetailUnavailable || e.Detail == auth.DetailInternal || e.Detail == auth.DetailStoreFull {
		span.SetStatus(codes.Error, e.Detail)
	}
	span.End(trace.WithTimestamp(now))
}

// log writes a verb, or why a request was rejected. The context has the span of the request, so a log record
// names its trace.
func (o *Observer) log(ctx context.Context, e auth.Event) {
	var r log.Record
	r.SetTimestamp(e.Time)
	r.SetSeverity(log.SeverityInfo)
	r.SetEventName("auth.verb")
	r.SetBody(attribute.StringValue(e.Verb))
	if e.Verb == "" {
		r.SetSeverity(log.SeverityWarn)
		r.SetEventName("auth.rejected")
		r.SetBody(attribute.StringValue(e.Detail))
	}
	for _, a := range []struct{ name, value string }{
		{"auth.org", string(e.Org)}, {"auth.mechanism", e.Mechanism}, {"auth.account", e.Account}, {"auth.actor", e.Actor}, {"auth.by", e.By},
		{"auth.app", e.App}, {"auth.credential", e.Credential}, {"auth.token", e.Token}, {"auth.session", e.Session},
		{"auth.reason", e.Reason}, {"auth.request", e.Request}, {"http.route", e.Route}, {"user_agent.original", e.Agent},
	} {
		if a.value != "" {
			r.AddAttributes(attribute.String(a.name, a.value))
		}
	}
	if e.Err != nil {
		r.SetErr(e.Err)
	}
	if e.Address.IsValid() {
		r.AddAttributes(attribute.String("client.address", e.Address.String()))
	}
	o.logger.Emit(ctx, r)
}

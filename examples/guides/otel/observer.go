// Package otel reports the decisions of a Guard to OpenTelemetry: a counter and a
// histogram of decisions, and a span for each. Another counter is for verbs, such as
// login.wrong.
//
// Guard.Observe is called once per decision and verb, in the context of the request. So the
// span is a child of the span that a middleware outside the Guard has started. The
// request waits for Observe. Leave exporting to the SDK's batches.
//
// The counter has few attributes, because each combination of their values is a
// series forever. Mechanism and detail come from fixed tables. The org is one that
// the Guard has found; an invented org code is not counted as an org. Only the span
// has apps and accounts.
//
// A fault of a handler is not a decision. If the Guard allows a request and its handler
// then answers with auth.Fail, the counter auth.faults counts it, and the span has the
// attribute auth.handler. An alarm about refusals then does not ring for a handler's 404.
package otel

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/tenantkit/tenantkit/auth"
)

const name = "github.com/tenantkit/tenantkit/examples/guides/otel"

// Observer reports decisions to OpenTelemetry. It is safe for concurrent use.
type Observer struct {
	tracer    trace.Tracer
	decisions metric.Int64Counter
	verbs     metric.Int64Counter
	faults    metric.Int64Counter     // of handlers
	duration  metric.Float64Histogram // in seconds
}

// NewObserver creates the instruments. Set Guard.Observe to the Observe method of
// the result.
func NewObserver(spans trace.TracerProvider, meters metric.MeterProvider) (*Observer, error) {
	meter := meters.Meter(name)
	decisions, err := meter.Int64Counter("auth.decisions",
		metric.WithDescription("Decisions of the Guard."), metric.WithUnit("{decision}"))
	if err != nil {
		return nil, err
	}
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
	return &Observer{spans.Tracer(name), decisions, verbs, faults, duration}, nil
}

// Observe is for Guard.Observe.
func (o *Observer) Observe(ctx context.Context, e auth.Event) {
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
		o.decisions.Add(ctx, 1, few)
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

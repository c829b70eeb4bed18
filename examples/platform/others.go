package main

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/paging/sqlpage"
)

const (
	sayInterval = time.Second     // between two messages that say which orgs are watched
	sayLife     = 5 * time.Second // of such a message
	sayAtOnce   = 50              // orgs in one message: PostgreSQL takes 8,000 bytes
	sayLongest  = 7900            // bytes of a message
	toOthers    = 1000            // events that wait to be sent, at most
	otherOrgs   = 10_000          // orgs that others watch, at most
)

// medium is what instances share: Redis, or PostgreSQL. receive ends with ctx, or when the connection is lost.
type medium struct {
	send    func(ctx context.Context, text string) error
	receive func(ctx context.Context, take func(text string)) error
}

// eventMessage is what instances tell each other: which orgs they watch, or an event.
type eventMessage struct {
	From    string        `json:"from"`
	Watched []auth.OrgKey `json:"watched,omitempty"`
	Org     auth.OrgKey   `json:"org,omitempty"`
	Event   *eventReply   `json:"event,omitempty"`
	Lost    int64         `json:"lost,omitempty"` // events of the org before this one
}

// others passes events between instances. An instance sends those of an org only while another one watches it.
// It never waits: what the other side is too slow for is counted.
type others struct {
	feed    *feed
	medium  *medium // nil: there are no others
	self    string
	waiting chan eventMessage
	close   context.CancelFunc

	mu      sync.Mutex
	watched map[auth.OrgKey]time.Time // by others, until
	lost    map[auth.OrgKey]int64     // of watched orgs
}

func newOthers(f *feed, m *medium) *others {
	ctx, cancel := context.WithCancel(context.Background())
	o := &others{feed: f, medium: m, self: newID(), waiting: make(chan eventMessage, toOthers), close: cancel,
		watched: map[auth.OrgKey]time.Time{}, lost: map[auth.OrgKey]int64{}}
	if m != nil {
		go o.tell(ctx)
		go o.listen(ctx)
	}
	return o
}

// publish sends an event to the instances that watch its org. It calls show only if there are any.
func (o *others) publish(org auth.OrgKey, show func() eventReply) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if until, ok := o.watched[org]; !ok || time.Now().After(until) {
		return
	}
	select {
	case o.waiting <- eventMessage{From: o.self, Org: org, Event: new(show()), Lost: o.lost[org]}:
		delete(o.lost, org)
	default:
		o.lost[org]++
	}
}

// tell sends what waits, and which orgs are watched here.
func (o *others) tell(ctx context.Context) {
	due := time.Tick(sayInterval)
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case m := <-o.waiting:
			o.send(ctx, m)
		case <-due:
			for orgs := range slices.Chunk(o.feed.watched(), sayAtOnce) {
				o.send(ctx, eventMessage{From: o.self, Watched: orgs})
			}
			o.forget()
		}
	}
}

func (o *others) send(ctx context.Context, m eventMessage) {
	ctx, cancel := context.WithTimeout(ctx, sayInterval)
	defer cancel()
	text := asJSON(m)
	sent := len(text) <= sayLongest && o.medium.send(ctx, text) == nil
	if !sent && m.Event != nil {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.lost[m.Org] += m.Lost + 1
	}
}

// forget removes the orgs that nobody watches any more.
func (o *others) forget() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for org, until := range o.watched {
		if time.Now().After(until) {
			delete(o.watched, org)
			delete(o.lost, org)
		}
	}
}

func (o *others) listen(ctx context.Context) {
	for ctx.Err() == nil {
		_ = o.medium.receive(ctx, o.take) // it is tried again, and readers see that events are missing
		select {
		case <-ctx.Done():
		case <-time.After(sayInterval):
		}
	}
}

func (o *others) take(text string) {
	var m eventMessage
	if json.Unmarshal([]byte(text), &m) != nil || m.From == o.self {
		return
	}
	if m.Event != nil {
		o.feed.lost(m.Org, m.Lost)
		o.feed.publish(m.Org, func() eventReply { return *m.Event })
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, org := range m.Watched {
		if _, known := o.watched[org]; known || len(o.watched) < otherOrgs {
			o.watched[org] = time.Now().Add(sayLife)
		}
	}
}

// eventsTopic returns where the instances that have a sealing key tell each other events. All databases of a
// Redis have one set of topics, and so do all schemas of a database: another server there may have an org of
// the same name.
func eventsTopic(sealingKey []byte) string {
	return "platform_events_" + hex.EncodeToString(derived(sealingKey, "events", 16))
}

// medium returns what the instances of this server share, or nil.
func (s *stores) medium(o options) *medium {
	switch {
	case s.redis != nil:
		return &medium{
			send: func(ctx context.Context, text string) error { return s.redis.Publish(ctx, s.topic, text).Err() },
			receive: func(ctx context.Context, take func(string)) error {
				topic := s.redis.Subscribe(ctx, s.topic)
				defer topic.Close()
				for {
					m, err := topic.ReceiveMessage(ctx)
					if err != nil {
						return err
					}
					take(m.Payload)
				}
			},
		}
	case s.own.dialect == sqlpage.PostgreSQL:
		return &medium{
			send: func(ctx context.Context, text string) error {
				_, err := s.own.db.ExecContext(ctx, "SELECT pg_notify($1, $2)", s.topic, text)
				return err
			},
			receive: func(ctx context.Context, take func(string)) error {
				conn, err := pgx.Connect(ctx, o.db) // of its own: it waits all the time
				if err != nil {
					return err
				}
				defer conn.Close(context.WithoutCancel(ctx))
				if _, err := conn.Exec(ctx, "LISTEN "+s.topic); err != nil {
					return err
				}
				for {
					m, err := conn.WaitForNotification(ctx)
					if err != nil {
						return err
					}
					take(m.Payload)
				}
			},
		}
	}
	return nil
}

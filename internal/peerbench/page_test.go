package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"testing"

	"github.com/stripe/stripe-go/v82"
	"github.com/stripe/stripe-go/v82/form"

	"github.com/tenantkit/tenantkit/envelope"
	"github.com/tenantkit/tenantkit/paging/walk"
)

const pageItems = 1000

type message struct {
	envelope.Item
	Text   string   `json:"c_text"`
	Author string   `json:"c_author"`
	Likes  int      `json:"c_likes"`
	Sent   string   `json:"c_sent"`
	Tags   []string `json:"c_tags"`
}

type plainPage struct {
	Object  string    `json:"object"`
	Data    []message `json:"data"`
	HasMore bool      `json:"hasMore"`
}

// page returns the body of one page; change may alter its items.
func page(t testing.TB, change func(items []message)) []byte {
	l := envelope.List[message]{}
	for i := range pageItems {
		l.Data = append(l.Data, message{
			Item:   envelope.Item{ID: fmt.Sprintf("%024x", i+1), Object: "c_message"},
			Text:   "The quick brown fox jumps over the lazy dog.",
			Author: fmt.Sprintf("%024x", i*7),
			Likes:  i, Sent: "2026-01-02T03:04:05.000Z", Tags: []string{"a", "b"},
		})
	}
	if change != nil {
		change(l.Data)
	}
	body, err := json.Marshal(l)
	if err != nil {
		t.Fatal(err)
	}
	return body
}

func counted(n int, err error) error {
	if err == nil && n != pageItems {
		err = fmt.Errorf("%d items", n)
	}
	return err
}

func TestPageDecode(t *testing.T)      { check(t, "PageDecode", decoders(t)) }
func BenchmarkPageDecode(b *testing.B) { race(b, decoders(b)) }

// stream hides all methods but Read, like the body of a reply.
type stream struct{ io.Reader }

// decoders all read the same stream. Its length is unknown to them.
func decoders(t testing.TB) []contender {
	const limit = 1 << 20
	good := page(t, nil)
	of := func(name string, decode func(body io.Reader, limit int64) error) contender {
		from := func(body []byte, limit int64) error { return decode(stream{bytes.NewReader(body)}, limit) }
		return contender{name: name, good: func() error { return from(good, limit) }, bad: map[string]func() error{
			"cut":                     func() error { return from(good[:len(good)-2], limit) },
			"text behind it":          func() error { return from(append(bytes.Clone(good), "<br>"...), limit) },
			"a body beyond the limit": func() error { return from(good, 1<<10) },
			"a fault":                 func() error { return notCounted(from((&envelope.Fault{Detail: "x", Status: 403}).Encode(""), limit)) },
		}}
	}
	return []contender{
		of("json.Unmarshal", func(body io.Reader, _ int64) error {
			var p plainPage
			err := unmarshal(body, &p)
			return counted(len(p.Data), err)
		}),
		of(ours, func(body io.Reader, limit int64) error {
			var l envelope.List[message]
			err := envelope.Decode(body, limit, &l)
			return counted(len(l.Data), err)
		}),
		of("json.Decoder", func(body io.Reader, _ int64) error {
			var p plainPage
			err := json.NewDecoder(body).Decode(&p)
			return counted(len(p.Data), err)
		}),
		of("RawMessage first", func(body io.Reader, _ int64) error {
			var p struct{ Data []json.RawMessage }
			if err := unmarshal(body, &p); err != nil {
				return err
			}
			items := make([]message, len(p.Data))
			for i, raw := range p.Data {
				if err := json.Unmarshal(raw, &items[i]); err != nil {
					return err
				}
			}
			return counted(len(items), nil)
		}),
	}
}

func unmarshal(r io.Reader, v any) error {
	body, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	return json.Unmarshal(body, v)
}

// notCounted accepts "no items" as an answer. That a page has all its items is a
// condition of this test, and not a check of the decoder.
func notCounted(err error) error {
	if err != nil && err.Error() == "0 items" {
		return nil
	}
	return err
}

func TestPageWalk(t *testing.T)      { check(t, "PageWalk", walkers(t)) }
func BenchmarkPageWalk(b *testing.B) { race(b, walkers(b)) }

// answer is a server that always sends the same body.
type answer []byte

func (a answer) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{
		StatusCode: http.StatusOK, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: r,
		Header:        http.Header{"Content-Type": {"application/json"}},
		ContentLength: int64(len(a)), Body: io.NopCloser(bytes.NewReader(a)),
	}, nil
}

func walkers(t testing.TB) []contender {
	good := page(t, nil)
	still := page(t, func(items []message) { items[1].ID = items[0].ID })
	of := func(name string, walk func(*http.Client) (int, error)) contender {
		over := func(body []byte) func() error {
			client := &http.Client{Transport: answer(body)}
			return func() error { return counted(walk(client)) }
		}
		return contender{name: name, good: over(good), bad: map[string]func() error{
			"cut":                          over(good[:len(good)-2]),
			"a page that does not advance": over(still),
		}}
	}
	return []contender{
		of("json.Unmarshal", plainWalk),
		of(ours, ourWalk),
		of("stripe-go", stripeWalk),
	}
}

const listURL = audience + "/c_messages"

func fetch(client *http.Client, v any) error {
	response, err := client.Get(listURL)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	return unmarshal(response.Body, v)
}

func plainWalk(client *http.Client) (n int, err error) {
	var p plainPage
	if err := fetch(client, &p); err != nil {
		return 0, err
	}
	for _, m := range p.Data {
		if m.ID != "" {
			n++
		}
	}
	return n, nil
}

func ourWalk(client *http.Client) (n int, err error) {
	l := walk.List[message]{Client: client, URL: listURL}
	for m, err := range l.All(context.Background()) {
		if err != nil {
			return n, err
		}
		if m.ID != "" {
			n++
		}
	}
	return n, nil
}

// stripePage is a list in the form of the SDK's types, with our items.
type stripePage struct {
	stripe.ListMeta
	Data []*message `json:"data"`
}

func stripeWalk(client *http.Client) (n int, err error) {
	query := func(*stripe.Params, *form.Values) ([]any, stripe.ListContainer, error) {
		list := &stripePage{}
		err := fetch(client, list)
		items := make([]any, len(list.Data))
		for i, m := range list.Data {
			items[i] = m
		}
		return items, list, err
	}
	all := stripe.GetIter(&stripe.ListParams{}, query)
	for all.Next() {
		if all.Current().(*message).ID != "" {
			n++
		}
	}
	return n, all.Err()
}

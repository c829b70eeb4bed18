package walk_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"

	"github.com/tenantkit/tenantkit/envelope"
	"github.com/tenantkit/tenantkit/paging"
	"github.com/tenantkit/tenantkit/paging/walk"
)

type message struct {
	envelope.Item
	Text string `json:"c_text"`
}

// platform stands for a client whose transport signs or presents a token.
var platform = answering(
	`{"object":"list","data":[{"_id":"1","object":"c_message","c_text":"one"},{"_id":"2","object":"c_message","c_text":"two"}],"hasMore":true}`,
	`{"object":"list","data":[{"_id":"3","object":"c_message","c_text":"three"}],"hasMore":false}`,
)

func ExampleList_All() {
	messages := walk.List[message]{
		Client: platform,
		URL:    "https://platform.example/acme/v2/c_messages",
		Query:  paging.Query{Paths: []string{"c_text"}, Where: paging.Eq("c_pinned", true), Limit: 2},
	}
	for m, err := range messages.All(context.Background()) {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(m.ID, m.Text)
	}
	// Output:
	// 1 one
	// 2 two
	// 3 three
}

func ExampleList_Pages() {
	messages := walk.List[message]{
		Client: answering(
			`{"object":"list","data":[{"_id":"1"},{"_id":"2"}],"hasMore":true}`,
			`{"object":"list","data":[{"_id":"3"}],"hasMore":false}`,
		),
		URL:   "https://platform.example/acme/v2/c_messages",
		Query: paging.Query{Limit: 2},
	}
	for page, err := range messages.Pages(context.Background()) {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(len(page.Data), page.HasMore)
	}
	// Output:
	// 2 true
	// 1 false
}

// A list property goes on after the items that came with its object.
func ExampleList_property() {
	conversation := struct {
		envelope.Item
		Messages envelope.List[message] `json:"c_messages"`
	}{Messages: envelope.List[message]{Data: []message{{Item: envelope.Item{ID: "1"}}}, HasMore: true}}

	messages := walk.List[message]{
		Client:   answering(`{"_id":"5f","c_messages":{"object":"list","data":[{"_id":"2","c_text":"two"}],"hasMore":"false"}}`),
		URL:      "https://platform.example/acme/v2/c_conversations/5f",
		Property: "c_messages",
		Query:    paging.Query{Paths: []string{"c_text"}}, // on the wire paths[]=c_messages.c_text
		After:    conversation.Messages.Data[0].ID,
	}
	for m, err := range messages.All(context.Background()) {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(m.ID, m.Text)
	}
	// Output:
	// 2 two
}

func ExampleError() {
	messages := walk.List[message]{
		Client: answering(
			`{"object":"list","data":[{"_id":"1"}],"hasMore":true}`,
			`{"object":"fault","errCode":"service.expired.jwt","status":401}`,
		),
		URL: "https://platform.example/acme/v2/c_messages",
	}
	for _, err := range messages.All(context.Background()) {
		if stopped, ok := errors.AsType[*walk.Error](err); ok {
			messages.After = stopped.After // and range again, with another token
			fmt.Println(err, "after", stopped.After)
		}
	}
	// Output:
	// walk: fault 401 expired.jwt after 1
}

// answering returns a client that gets each body in turn.
func answering(bodies ...string) *http.Client { return &http.Client{Transport: &answers{bodies}} }

type answers struct{ left []string }

func (a *answers) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	io.WriteString(w, a.left[0])
	a.left = a.left[1:]
	return w.Result(), nil
}

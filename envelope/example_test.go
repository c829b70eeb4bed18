package envelope_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/envelope"
)

func ExampleVerbatim() {
	items := []envelope.Verbatim{[]byte(`{"_id":"m1","object":"message"}`)}
	body, err := envelope.Encode(envelope.List[envelope.Verbatim]{Data: items, HasMore: true})
	fmt.Println(string(body), err)
	// Output:
	// {"object":"list","data":[{"_id":"m1","object":"message"}],"hasMore":true} <nil>
}

func ExampleDecode() {
	type connection struct {
		envelope.Item
		Access int `json:"access"`
	}
	reply := strings.NewReader(`{"object":"list","data":[{"_id":"5f1","object":"connection","access":4}],"hasMore":"false"}`)

	var page envelope.List[connection]
	if err := envelope.Decode(reply, 1<<20, &page); err != nil {
		fmt.Println(err)
		return
	}
	for _, c := range page.Data {
		fmt.Println(c.ID, c.Access)
	}
	fmt.Println("more:", page.HasMore)
	// Output:
	// 5f1 4
	// more: false
}

func ExampleDecode_fault() {
	reply := strings.NewReader(`{"object":"fault","errCode":"service.accessDenied.scope","status":403,"reason":"object.read.c_note"}`)

	var page envelope.List[envelope.Item]
	err := envelope.Decode(reply, 1<<20, &page)
	if fault, ok := errors.AsType[*envelope.Fault](err); ok {
		fmt.Println(fault.Detail, fault.Status)
	}
	fmt.Println(err)
	// Output:
	// accessDenied.scope 403
	// fault 403 accessDenied.scope: object.read.c_note
}

func ExampleFault_Encode() {
	fault := &envelope.Fault{Detail: "notFound.env", Code: "kNotFound", Status: 404, Message: "Unknown org."}
	fmt.Printf("%s\n", fault.Encode("service"))
	// Output:
	// {"object":"fault","name":"error","code":"kNotFound","errCode":"service.notFound.env","status":404,"message":"Unknown org.","faults":[]}
}

func ExampleSelect() {
	account := json.RawMessage(`{"_id":"5f1","object":"account","email":"a@example.com","name":{"first":"Ada","last":"King"}}`)

	narrowed, err := envelope.Select(account, func(path string) bool { return path == "name.first" })
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%s\n", narrowed)
	// Output:
	// {"_id":"5f1","object":"account","name":{"first":"Ada"}}
}

func ExampleRead() {
	type order struct {
		Article string  `json:"article"`
		Count   int     `json:"count,omitempty"`
		Note    *string `json:"note"` // null removes the note
	}
	handler := func(w http.ResponseWriter, r *http.Request) {
		ask := order{Count: 1}
		named, err := envelope.Read(r, 16<<10, &ask)
		if err != nil {
			auth.Fail(w, r, err)
			return
		}
		fmt.Println(ask.Article, ask.Count, "note is named:", slices.Contains(named, "note"))
	}
	for _, body := range []string{`{"article":"tea","note":null}`, `{"article":1,"amount":2}`} {
		r := httptest.NewRequest("POST", "/", strings.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		handler(w, r)

		var refused envelope.Fault
		if json.Unmarshal(w.Body.Bytes(), &refused) != nil {
			continue
		}
		for _, child := range refused.Faults {
			fmt.Println(child.Path, child.Reason)
		}
	}
	// Output:
	// tea 1 note is named: true
	// article must be a string
	// amount unknown field
}

// A server that learns the properties of its objects while it runs reads them by a
// Form, and adds Kinds of its own.
func ExampleForm() {
	color := func(text string) (any, string) {
		if text == `"red"` || text == `"green"` {
			return text[1 : len(text)-1], ""
		}
		return nil, "must be red or green"
	}
	form := envelope.Form{
		{Path: "name", Kind: envelope.String, Required: true},
		{Path: "size.width", Kind: envelope.Integer},
		{Path: "size.exact", Kind: envelope.Boolean},
		{Path: "tags", Kind: envelope.Strings, Null: true},
		{Path: "extra", Kind: envelope.Object},
		{Path: "color", Kind: color},
	}
	values, named, err := form.Parse(`{"name":"box","size":{"width":3},"tags":null,"color":"red"}`)
	fmt.Println(values, named, err)

	_, _, err = form.Parse(`{"size":{"width":3.5},"color":"blue","colour":"red"}`)
	if refused, ok := errors.AsType[*envelope.BodyError](err); ok {
		for _, child := range refused.Fault().Faults {
			fmt.Println(child.Path, child.Reason)
		}
	}
	// Output:
	// map[color:red name:box size.width:3 tags:<nil>] [name size.width tags color] <nil>
	// size.width must be an integer of 64 bits
	// color must be red or green
	// colour unknown field
	// name is required
}

func ExampleWrite() {
	w := httptest.NewRecorder()
	envelope.Write(w, envelope.Result[bool]{Data: true})
	fmt.Println(w.Code, w.Header().Get("Content-Type"))
	fmt.Println(w.Body)
	// Output:
	// 200 application/json; charset=utf-8
	// {"object":"result","data":true}
}

func ExampleList() {
	page := envelope.List[envelope.Item]{Data: []envelope.Item{{ID: "5f1", Object: "connection"}}, HasMore: true}
	body, err := json.Marshal(page)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%s\n", body)
	// Output:
	// {"object":"list","data":[{"_id":"5f1","object":"connection"}],"hasMore":true}
}

// Without an auth.Guard, Encode tells why a reply cannot be written.
func ExampleEncode() {
	for _, ratio := range []float64{0.25, math.Inf(1)} {
		body, err := envelope.Encode(envelope.Result[float64]{Data: ratio})
		fmt.Println(string(body), err)
	}
	// Output:
	// {"object":"result","data":0.25} <nil>
	//  json: unsupported value: +Inf
}

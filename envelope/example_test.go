package envelope_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"

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

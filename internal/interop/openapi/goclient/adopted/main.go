// Command adopted proves that oapi-codegen makes a client that an adopter can use of what
// auth/openapi writes for money, an enum, a 201 and a token endpoint.
//
// The file generated.go, of this package, comes from TestWhatAdoptersDescribe of auth/openapi.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
)

// amount is exact as a decimal, and no float64.
const amount = "12345678901234567.89"

func main() {
	server := httptest.NewServer(http.HandlerFunc(answer))
	defer server.Close()
	if err := use(server.URL); err != nil {
		fmt.Fprintln(os.Stderr, "adopted:", err)
		os.Exit(1)
	}
	fmt.Println("3 passed, 0 failed: a client of money, an enum, a 201 and a token endpoint")
}

func answer(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	invoice := `{"_id":"42","object":"invoice","amount":` + amount + `,"state":"open","sent":"2026-01-02T03:04:05.090Z","note":null,"tags":[]}`
	switch r.Method + " " + r.URL.Path {
	case "POST /invoices":
		var body map[string]json.RawMessage
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil || string(body["amount"]) != amount || string(body["state"]) != `"open"` {
			http.Error(w, fmt.Sprint(body, err), 400)
			return
		}
		w.Header().Set("Location", "/invoices/42")
		w.WriteHeader(http.StatusCreated)
		io.WriteString(w, invoice)
	case "GET /invoices":
		io.WriteString(w, `{"object":"list","data":[`+invoice+`],"hasMore":false}`)
	case "POST /oauth/token":
		key, secret, _ := r.BasicAuth()
		if r.FormValue("grant_type") != "client_credentials" || key != "key" || secret != "secret" {
			w.WriteHeader(401)
			io.WriteString(w, `{"error":"invalid_client"}`)
			return
		}
		io.WriteString(w, `{"access_token":"a","token_type":"Bearer","expires_in":900,"scope":"object.read.invoice"}`)
	}
}

func use(url string) error {
	client, err := NewClientWithResponses(url)
	if err != nil {
		return err
	}
	ctx := context.Background()
	state := InvoiceStateOpen
	made, err := client.PostInvoicesWithResponse(ctx, PostInvoicesJSONRequestBody{Amount: amount, State: &state})
	if err != nil || made.JSON201 == nil || made.JSON201.Amount != amount || made.JSON201.State != InvoiceStateOpen || made.JSON201.Sent.Nanosecond() != 90e6 {
		return fmt.Errorf("an invoice: %v %s", err, made.Body)
	}
	list, err := client.GetInvoicesWithResponse(ctx, nil)
	if err != nil || list.JSON200 == nil || *list.JSON200.Data[0].Amount != amount || *list.JSON200.Data[0].State != InvoiceStateOpen {
		return fmt.Errorf("invoices: %v %s", err, list.Body)
	}
	basic := func(_ context.Context, r *http.Request) error { r.SetBasicAuth("key", "secret"); return nil }
	ask := PostOauthTokenFormdataRequestBody{GrantType: ClientCredentials}
	token, err := client.PostOauthTokenWithFormdataBodyWithResponse(ctx, ask, basic)
	if err != nil || token.JSON200 == nil || token.JSON200.AccessToken != "a" {
		return fmt.Errorf("a token: %v %s", err, token.Body)
	}
	if refused, err := client.PostOauthTokenWithFormdataBodyWithResponse(ctx, ask); err != nil || refused.JSON401 == nil || refused.JSON401.Error != "invalid_client" {
		return fmt.Errorf("no token: %v %s", err, refused.Body)
	}
	return nil
}

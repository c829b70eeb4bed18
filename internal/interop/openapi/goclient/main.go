// Command goclient proves that oapi-codegen and a RequestEditorFn that signs make a client of the
// reference server, by signature and by token.
//
//	go run . FACTS
//
// The file generated.go, of this package, comes from the server's /openapi.json.
package main

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	_ "github.com/oapi-codegen/runtime" // of generated.go
)

// signer returns an editor that signs requests by section 5.3 of INTERFACE.md. mount is the URL of
// an environment, such as https://api.example.net/acme/v2.
func signer(mount, clientKey, secret string) RequestEditorFn {
	var last atomic.Int64
	return func(_ context.Context, r *http.Request) error {
		command, within := strings.CutPrefix(r.URL.Scheme+"://"+r.URL.Host+r.URL.EscapedPath(), mount+"/")
		if !within {
			return fmt.Errorf("%s is not below %s", r.URL, mount)
		}
		at := strconv.FormatInt(after(&last, time.Now().UnixMilli()), 10)
		mac := hmac.New(sha256.New, []byte(clientKey+secret))
		mac.Write([]byte("/" + strings.TrimSuffix(command, "/") + ";" + r.Method + ";" + at))
		r.Header.Set("Service-Client-Key", clientKey)
		r.Header.Set("Service-Client-Signature", hex.EncodeToString(mac.Sum(nil)))
		r.Header.Set("Service-Client-Timestamp", at)
		r.Header.Set("Service-Client-Nonce", rand.Text()[:16])
		return nil
	}
}

// after returns now, or the millisecond after the last one: a signature may be used once.
func after(last *atomic.Int64, now int64) int64 {
	for {
		former := last.Load()
		if next := max(now, former+1); last.CompareAndSwap(former, next) {
			return next
		}
	}
}

func bearer(token string) RequestEditorFn {
	return func(_ context.Context, r *http.Request) error {
		r.Header.Set("Authorization", "Bearer "+token)
		return nil
	}
}

// checks are the checks of one client. A check panics if it fails.
type checks struct {
	*ClientWithResponses
	context.Context
}

// page returns one page of messages with their likes.
func (c checks) page(limit int, where string) *GetCMessagesResponse {
	paths := []string{"c_likes", "c_text"}
	page, err := c.GetCMessagesWithResponse(c, &GetCMessagesParams{Paths: &paths, Limit: &limit, Where: &where})
	must(err)
	require(page.JSON200 != nil, "a page: %s", page.Body)
	return page
}

// walk returns all messages of a filter: section 4.2 of INTERFACE.md.
func (c checks) walk(filter string) (all []CMessage) {
	where := filter
	for {
		page := c.page(1000, where).JSON200
		all = append(all, page.Data...)
		if !page.HasMore {
			return all
		}
		where = fmt.Sprintf(`{"$and":[%s,{"_id":{"$gt":%q}}]}`, filter, all[len(all)-1].UnderscoreId)
	}
}

func (c checks) lists() {
	page := c.page(3, "{}").JSON200
	require(len(page.Data) == 3 && page.HasMore && *page.Data[0].CText != "", "a page of 3: %+v", page)
}

func (c checks) walks() {
	ids := make(map[string]bool)
	for _, message := range c.walk("{}") {
		ids[message.UnderscoreId] = true
	}
	require(len(ids) == 2500, "a walk has %d messages", len(ids))
}

func (c checks) filters() {
	var likes CMessageWhere_CLikes
	least, below := 10.0, 20.0
	must(likes.FromCMessageWhereCLikes1(CMessageWhereCLikes1{Gte: &least, Lt: &below}))
	where, err := json.Marshal(CMessageWhere{CLikes: &likes})
	must(err)
	others := func(m CMessage) bool {
		return m.CLikes == nil || *m.CLikes < 10 || *m.CLikes >= 20
	}
	kept := slices.DeleteFunc(c.walk("{}"), others)
	found := c.walk(string(where))
	same := slices.EqualFunc(kept, found, func(a, b CMessage) bool { return a.UnderscoreId == b.UnderscoreId })
	require(len(kept) > 0 && same, "%s has %d messages, not %d", where, len(found), len(kept))
}

func (c checks) posts() {
	text, lang, sent := "by a generated client", "en", time.Now().UTC().Format("2006-01-02T15:04:05.000Z")
	body := PostCMessagesJSONRequestBody{CText: &text, CSent: &sent}
	body.CMeta = &struct {
		Lang *string `json:"lang,omitempty"`
	}{&lang}
	made, err := c.PostCMessagesWithResponse(c, nil, body)
	must(err)
	require(made.JSON200 != nil && *made.JSON200.CText == text, "a post: %s", made.Body)
	id := made.JSON200.UnderscoreId
	read, err := c.GetCMessagesByIdWithResponse(c, id, nil)
	must(err)
	require(read.JSON200 != nil && *read.JSON200.CMeta.Lang == lang, "read again: %s", read.Body)
	deleted, err := c.DeleteCMessagesByIdWithResponse(c, id, nil)
	must(err)
	require(deleted.JSON200 != nil && deleted.JSON200.Data, "a delete: %s", deleted.Body)
	gone, err := c.GetCMessagesByIdWithResponse(c, id, nil)
	must(err)
	require(gone.JSON404 != nil && strings.Contains(gone.JSON404.ErrCode, "notFound"), "after a delete: %s", gone.Body)
}

func main() {
	var facts map[string]string
	text, err := os.ReadFile(os.Args[1])
	must(err)
	must(json.Unmarshal(text, &facts))
	mount := facts["base_url"] + "/" + facts["org"] + "/v2"
	editors := map[string]RequestEditorFn{
		"signature": signer(mount, facts["client_key"], facts["client_secret"]),
		"token":     bearer(facts["admin_token"]),
	}
	for name, editor := range editors {
		client, err := NewClientWithResponses(mount, WithRequestEditorFn(editor))
		must(err)
		c := checks{client, context.Background()}
		c.lists()
		c.walks()
		c.filters()
		c.posts()
		fmt.Printf("ok    a generated client in Go, by %s\n", name)
	}
	fmt.Printf("%d passed, 0 failed\n", len(editors))
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func require(holds bool, format string, args ...any) {
	if !holds {
		panic(fmt.Sprintf(format, args...))
	}
}

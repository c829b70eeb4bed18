package signing_test

import (
	"context"
	"encoding/base64"
	"errors"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/tenantkit/tenantkit/signing"
)

// FuzzVerifySecond changes all that a client can write. The text {MAC} stands for the
// right HMAC over what a general implementation takes for the base. Two readers must
// agree: what Verify accepts, the general implementation verifies; and where Verify sees
// no signature of ours, there is none for the other.
func FuzzVerifySecond(f *testing.F) {
	const (
		params = `;created=1790000000;nonce="nonceNumber00000";keyid="` + clientKey + `";alg="hmac-sha256";tag="service-v2"`
		four   = `"@method" "@authority" "@path" "@query"`
		sig    = "sig=:{MAC}:"
	)
	add := func(input, signature, query, digest, account, body string) {
		f.Add("POST", "/acme/v2/x", input, signature, query, digest, account, body)
	}
	add("sig=("+four+")"+params, sig, "a=1", "", "", "")
	add("a=1;tag=\"x\", sig=("+four+")"+params+"\n b=(\"@path\";sf)", "a=:aGk=:,"+sig, "", "", "", "")
	add("sig=("+four+` "content-digest" "service-client-account")`+params, sig, "?", sha256Digest("x")+", "+sha512Digest("x"), "me", "x")
	add("sig=("+four+")"+params+`;expires=1790000009`, sig+"\nb=?0", "%2f", "", "", "")
	add("sig="+four+")"+params, sig, "a=1", "", "", "")
	add(`sig=("@method");tag="service-v2", sig=2`, sig, "", "", "", "")
	add("sig;tag=service-v2", "", "", "", "", "")
	add(`sig=("x\"\\y" "z";q);tag="other";d=-1.5`, "", "", "", "", "")
	keys := keyring{clientKey: newKey(f, clientKey, secret)}
	f.Fuzz(func(t *testing.T, method, path, input, signature, query, digest, account, body string) {
		r := &http.Request{
			Method: method, URL: &url.URL{Path: path, RawQuery: query}, Header: http.Header{},
			Body: io.NopCloser(strings.NewReader(body)), ContentLength: int64(len(body)),
		}
		for name, value := range map[string]string{"Content-Digest": digest, names.Account: account} {
			if value != "" {
				r.Header[name] = []string{value}
			}
		}
		// As net/http hands them over: without blanks around a line.
		for line := range strings.SplitSeq(input, "\n") {
			r.Header["Signature-Input"] = append(r.Header["Signature-Input"], strings.Trim(line, " \t"))
		}
		members, broken := sfDictionary(r.Header["Signature-Input"])
		ours := slices.IndexFunc(members, func(m sfMemberOf) bool { return sfParamsOf(m.params)["tag"] == `"service-v2"` })
		if ours >= 0 {
			if text, err := signatureBase(r, "api.example.com", members[ours].value, members[ours].params); err == nil {
				mac := base64.StdEncoding.EncodeToString(macOf([]byte(macKey), text))
				signature = strings.ReplaceAll(signature, "{MAC}", mac)
			}
		}
		for line := range strings.SplitSeq(signature, "\n") {
			r.Header["Signature"] = append(r.Header["Signature"], strings.Trim(line, " \t"))
		}
		claims := 0
		s := secondServer(t)
		s.Keys, s.Replays = keys, replaysFunc(func(context.Context, signing.Use) error { claims++; return nil })
		_, err := s.Verify(t.Context(), r, "/x")
		switch {
		case errors.Is(err, signing.ErrNoSignature) && broken == nil && ours >= 0:
			t.Fatal("overlooked")
		case err != nil && claims > 0:
			t.Fatalf("recorded, and %v", err)
		case err != nil:
			return
		}
		params, err := generalVerify(r, "api.example.com", "service-v2", []byte(macKey), nil)
		if err != nil {
			t.Fatalf("accepted, but not by another implementation: %v", err)
		}
		if len(params) < 5 || params["keyid"] != `"`+clientKey+`"` || params["created"] == "" || params["nonce"] == "" {
			t.Fatalf("parameters %v", params)
		}
		covered := sfComponents(members[ours].value)
		for _, c := range always {
			if !slices.Contains(covered, c) {
				t.Fatalf("%s is not covered", c)
			}
		}
		if (account != "") != slices.Contains(covered, `"service-client-account"`) || digest == "" && body != "" {
			t.Fatal("the account or the body is not covered")
		}
		if !strings.Contains(digest, sha256Digest(body)) && !strings.Contains(digest, sha512Digest(body)) && digest != "" {
			t.Fatal("the digest is not that of the body")
		}
		if got, err := io.ReadAll(r.Body); err != nil || string(got) != body {
			t.Fatalf("the handler reads %q, %v", got, err)
		}
	})
}

func sfComponents(list string) (all []string) {
	for _, m := range itemShape.FindAllStringSubmatch(strings.Trim(list, "() "), -1) {
		all = append(all, m[1])
	}
	return all
}

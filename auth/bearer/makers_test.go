package bearer_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/bearer"
	"github.com/tenantkit/tenantkit/token"
)

var errDown = errors.New("down")

// down is a directory that does not answer.
type down struct{ auth.Directory }

func (down) Account(context.Context, auth.OrgKey, string) (*auth.Account, error) {
	return nil, errDown
}

func TestCheckMakers(t *testing.T) {
	m := newMinting(t)
	m.directory.PutAccount(auth.Account{ID: "later", Org: "acme", TokensFrom: noon})
	m.directory.PutAccount(auth.Account{ID: "off", Org: "acme", Disabled: true})
	record := func(maker, app string, issued time.Time) token.Record {
		return token.Record{ClientKey: appA, Subject: "ann", Issued: issued, Lineage: token.Lineage{Maker: maker, MakerApp: app}}
	}
	ofLater, ofOff := record("", "", noon.Add(-time.Second)), record("", "", noon)
	ofLater.Subject, ofOff.Subject = "later", "off"
	for _, c := range []struct {
		of   token.Record
		want error
	}{
		{record("", "", noon), nil},
		{record("ann", appA, noon), nil},
		{record("root", appB, noon), nil},
		{record("gone", "", noon), auth.ErrNotFound},
		{record("off", "", noon), auth.ErrNotFound},
		{record("root", "gone app", noon), auth.ErrNotFound},
		{record("later", "", noon), nil},
		{record("later", "", noon.Add(-time.Second)), auth.ErrNotFound},
		{ofLater, auth.ErrNotFound},
		{ofOff, nil},
	} {
		if err := bearer.CheckMakers(t.Context(), m.tenant, c.of); !errors.Is(err, c.want) {
			t.Errorf("%+v: %v, want %v", c.of, err, c.want)
		}
	}
	silent := newMinting(t, func(w *world) { w.guard.Directory = down{w.guard.Directory} })
	if err := bearer.CheckMakers(t.Context(), silent.tenant, record("root", "", noon)); !errors.Is(err, auth.ErrUnavailable) || errors.Is(err, auth.ErrNotFound) {
		t.Errorf("a directory without an answer: %v", err)
	}
}

package redisstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/apikey"
	"github.com/tenantkit/tenantkit/internal/face"
)

// apiKeys has all keys in one shard: a request names a key by its id alone, and its org has an index
// and a limit.
type apiKeys struct{ at *shard }

var (
	putKeyScript     = newScript(lua("apikey"), "return putKey()").failing(auth.ErrConflict, apikey.ErrTooMany)
	useKeyScript     = newScript(lua("apikey"), "return useKey()").failing(auth.ErrNotFound)
	getKeyScript     = newScript(lua("apikey"), "return {keyRow(ARGV[1], ARGV[2])}")
	listKeysScript   = newScript(lua("apikey"), "return listKeys()")
	revokeKeyScript  = newScript(lua("apikey"), "return revokeKey()").failing(auth.ErrNotFound)
	deleteKeysScript = newScript(lua("apikey"), "return endKeys()")
)

// APIKeys returns the server's API keys. A record takes about 900 bytes. That of an ended key stays
// until its owner gets another key, until it is revoked, or until RevokeAccount or DeleteOrg.
func (s *Store) APIKeys() apikey.Store { return &apiKeys{s.of(apiKeysShard)} }

const apiKeysShard = ""

func apiKeyKey(id string) string { return "i:" + id }

// Add implements apikey.Store.
func (k *apiKeys) Add(ctx context.Context, r apikey.Record, limit int) error {
	return k.put(ctx, apikey.Record{}, apikey.Record{}, &r, limit)
}

// Swap implements apikey.Store.
func (k *apiKeys) Swap(ctx context.Context, before, after apikey.Record, successor *apikey.Record, limit int) error {
	if before.ID == "" { // which Add has
		return auth.ErrConflict
	}
	if successor == nil {
		successor = new(apikey.Record)
	}
	return k.put(ctx, before, after, successor, limit)
}

// put changes before to after, and adds a record. One without an ID is none.
func (k *apiKeys) put(ctx context.Context, before, after apikey.Record, add *apikey.Record, limit int) error {
	return k.at.decide(ctx, putKeyScript, nil, k.at.prefix,
		before.ID, before.Stored(), after.Stored(), orEmpty(after.Expires, time.Time.UnixMilli), strconv.Itoa(limit), millis(add.Created),
		add.ID, string(add.Org), add.Account, add.App, add.Maker, add.Stored(), orEmpty(add.Expires, time.Time.UnixMilli), decimal(add.Uses))
}

// Use implements apikey.Store.
func (k *apiKeys) Use(ctx context.Context, id string, at time.Time, from netip.Prefix) error {
	return k.at.decide(ctx, useKeyScript, []string{apiKeyKey(id)}, useArgs(face.Use{Seen: at, From: from})...)
}

// Revoke implements apikey.Store.
func (k *apiKeys) Revoke(ctx context.Context, org auth.OrgKey, id string) error {
	return k.at.decide(ctx, revokeKeyScript, []string{apiKeyKey(id)}, k.at.prefix, id, string(org))
}

// Get implements apikey.Store.
func (k *apiKeys) Get(ctx context.Context, id string) (apikey.Record, error) {
	found, err := list(ctx, k.at, keyOf, getKeyScript, nil, k.at.prefix, id)
	if err != nil || len(found) == 0 {
		return apikey.Record{}, cmp.Or(err, auth.ErrNotFound)
	}
	return found[0], nil
}

// List implements apikey.Store.
func (k *apiKeys) List(ctx context.Context, of apikey.Of, after string, limit int) (keys []apikey.Record, next string, err error) {
	if limit < 1 || limit > apikey.MaxPage {
		return nil, "", fmt.Errorf("redisstore: list API keys: the limit is not 1 to %d", apikey.MaxPage)
	}
	index := "g:" + pair(string(of.Org), "")
	switch {
	case of.Account != "":
		index = "j:" + pair(string(of.Org), of.Account)
	case of.App != "":
		index = "m:" + pair(string(of.Org), of.App)
	}
	keys, next, err = page(ctx, k.at, keyOf, listKeysScript, []string{index}, k.at.prefix, after, strconv.Itoa(limit))
	if err != nil {
		return nil, "", err
	}
	return slices.DeleteFunc(keys, func(r apikey.Record) bool { return !of.Has(&r) }), next, nil
}

func keyOf(row any) (r apikey.Record, err error) {
	f, err := texts(row, 10)
	if err != nil {
		return r, err
	}
	var errs [4]error
	r.ID, r.Org, r.Account, r.App, r.Maker = f[0], auth.OrgKey(f[1]), f[2], f[3], f[4]
	errs[0] = r.SetStored(f[5])
	r.Uses, errs[1] = strconv.ParseInt(f[6], 10, 64)
	r.Used, errs[2] = strconv.ParseInt(f[7], 10, 64)
	r.Use, errs[3] = useOf(f[8], f[9])
	if errors.Join(errs[:]...) != nil {
		return r, errReply
	}
	return r, nil
}

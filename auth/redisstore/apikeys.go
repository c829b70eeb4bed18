package redisstore

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/apikey"
	"github.com/tenantkit/tenantkit/internal/face"
)

// apiKeys has all keys in one shard: a request names a key by its id alone, and its org has an index
// and a limit.
type apiKeys struct{ at *shard }

//go:embed lua/apikey.lua
var apiKeyText string

var (
	putKeyScript     = newScript(apiKeyText, "return putKey()")
	useKeyScript     = newScript(apiKeyText, "return useKey()")
	getKeyScript     = newScript(apiKeyText, "return {'', keyRow(ARGV[1], ARGV[2])}")
	listKeysScript   = newScript(apiKeyText, "return listKeys()")
	revokeKeyScript  = newScript(apiKeyText, "return revokeKey()")
	deleteKeysScript = newScript(apiKeyText, "return endKeys()")
)

// APIKeys returns the server's API keys. A record takes about 900 bytes. That of an ended key stays
// until its owner gets another key, until it is revoked, or until RevokeAccount or DeleteOrg.
func (s *Store) APIKeys() apikey.Store { return &apiKeys{s.of(apiKeysShard)} }

const apiKeysShard = ""

func apiKeyKey(id string) string { return "i:" + id }

func millisOrEmpty(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return millis(t)
}

// Add implements apikey.Store.
func (k *apiKeys) Add(ctx context.Context, r apikey.Record, limit int) error {
	return k.put(ctx, []string{"", "", "", ""}, &r, limit)
}

// Swap implements apikey.Store.
func (k *apiKeys) Swap(ctx context.Context, before, after apikey.Record, successor *apikey.Record, limit int) error {
	if before.ID == "" { // which Add has
		return auth.ErrConflict
	}
	return k.put(ctx, []string{before.ID, before.Stored(), after.Stored(), millisOrEmpty(after.Expires)}, successor, limit)
}

func (k *apiKeys) put(ctx context.Context, args []string, add *apikey.Record, limit int) error {
	if add == nil {
		add = new(apikey.Record)
	}
	args = append([]string{k.at.prefix}, args...)
	args = append(args, strconv.Itoa(limit), millis(add.Created),
		add.ID, string(add.Org), add.Account, add.App, add.Maker, add.Stored(), millisOrEmpty(add.Expires), decimal(add.Uses))
	code, err := k.at.code(ctx, putKeyScript, nil, args...)
	return cmp.Or(err, codeError(code, nil, auth.ErrConflict, apikey.ErrTooMany))
}

// Use implements apikey.Store.
func (k *apiKeys) Use(ctx context.Context, id string, at time.Time, from netip.Prefix) error {
	code, err := k.at.code(ctx, useKeyScript, []string{apiKeyKey(id)}, useArgs(face.Use{Seen: at, From: from})...)
	return cmp.Or(err, codeError(code, nil, auth.ErrNotFound))
}

// Revoke implements apikey.Store.
func (k *apiKeys) Revoke(ctx context.Context, org auth.OrgKey, id string) error {
	code, err := k.at.code(ctx, revokeKeyScript, []string{apiKeyKey(id)}, k.at.prefix, id, string(org))
	return cmp.Or(err, codeError(code, nil, auth.ErrNotFound))
}

// Get implements apikey.Store.
func (k *apiKeys) Get(ctx context.Context, id string) (apikey.Record, error) {
	found, _, err := k.rows(ctx, getKeyScript, nil, k.at.prefix, id)
	if err == nil && len(found) == 0 {
		err = auth.ErrNotFound
	}
	if err != nil {
		return apikey.Record{}, err
	}
	return found[0], nil
}

// List implements apikey.Store.
func (k *apiKeys) List(ctx context.Context, of apikey.Of, after string, limit int) (page []apikey.Record, next string, err error) {
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
	rows, next, err := k.rows(ctx, listKeysScript, []string{index}, k.at.prefix, after, strconv.Itoa(limit))
	for _, r := range rows {
		if of.Has(&r) {
			page = append(page, r)
		}
	}
	return page, next, err
}

// rows runs a script that returns a text and then rows of keyRow.
func (k *apiKeys) rows(ctx context.Context, script *script, keys []string, args ...string) (all []apikey.Record, first string, err error) {
	reply, err := k.at.run(ctx, script, keys, args...)
	if err != nil {
		return nil, "", err
	}
	rows, ok := reply.([]any)
	if !ok || len(rows) == 0 {
		return nil, "", errReply
	}
	if first, ok = text(rows[0]); !ok {
		return nil, "", errReply
	}
	for _, row := range rows[1:] {
		if row == nil {
			continue
		}
		r, err := keyOf(row)
		if err != nil {
			return nil, "", err
		}
		all = append(all, r)
	}
	return all, first, nil
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

package main

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/audit"
)

const auditPaths = "n,time,verb,actor,account,app,credential,token,session,by,address,agent,mail,detail,reason,count,route,request,salt,commitment,hash"

func (c cli) listAudit() *cobra.Command {
	var o listOptions
	return c.sending("audit list", cobra.NoArgs, o.define, func(ctx context.Context, to *connection, _ []string) error {
		o.sort, o.paths = cmp.Or(o.sort, `{"n":-1}`), cmp.Or(o.paths, auditPaths)
		return c.walk(ctx, to, &o, "/audit")
	})
}

// entries calls f with the entries that options select, the oldest first unless they say otherwise.
func (to *connection) entries(ctx context.Context, o listOptions, f func(*audit.Entry) error) error {
	o.sort, o.paths, o.limit = cmp.Or(o.sort, "n"), auditPaths, 1000
	list, err := o.list(to, "/audit")
	if err != nil {
		return err
	}
	for i, err := range list.All(ctx) {
		var e audit.Entry
		if err == nil {
			err = json.Unmarshal(i.RawMessage, &e)
		}
		if err == nil {
			e.Org = to.org()
			err = f(&e)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// org returns the org of the URL, which ends with the org and the version.
func (to *connection) org() auth.OrgKey {
	at, _ := url.Parse(to.URL) // checked before
	segments := strings.Split(strings.Trim(at.Path, "/"), "/")
	return auth.OrgKey(segments[max(len(segments)-2, 0)])
}

func (c cli) verifyAudit() *cobra.Command {
	var file, key string
	define := func(flags *pflag.FlagSet) {
		flags.StringVar(&file, "checkpoint", "", "`file` of the server's -audit-checkpoint, kept where who can write to the database cannot")
		flags.StringVar(&key, "checkpoint-key", "", "public `key` that has signed it, as the lines have it (default: any)")
	}
	return c.sending("audit verify", cobra.NoArgs, define, func(ctx context.Context, to *connection, _ []string) (err error) {
		var v audit.Verifier
		heads := []audit.Head{{}} // none
		if file != "" {
			if heads, err = readCheckpoints(file, key, to.org()); err != nil {
				return err
			}
		}
		var reply struct {
			Data struct {
				Count      int64
				Hash, Time string
			}
		}
		if err := to.fetch(ctx, http.MethodGet, "/audit/head", "", &reply); err != nil {
			return err
		}
		head := audit.Head{Org: to.org(), Count: reply.Data.Count, Hash: reply.Data.Hash}
		head.Time, _ = time.Parse(time.RFC3339, reply.Data.Time) // none without an entry
		v.After.Org = head.Org
		err = to.entries(ctx, listOptions{where: `{"verb":"audit.sealed"}`, sort: `{"n":-1}`, max: 1}, func(e *audit.Entry) error {
			v.After, _ = e.Sealed()
			return nil
		})
		if err == nil {
			rows := listOptions{all: true, where: fmt.Sprintf(`{"n":{"$gt":%d,"$lte":%d}}`, v.After.Count, head.Count)}
			err = to.entries(ctx, rows, func(e *audit.Entry) error {
				for len(heads) > 1 && (heads[0].Count < e.N || heads[0].Count == e.N && heads[0].Hash == e.Hash) {
					heads = heads[1:]
				}
				v.Checkpoint = heads[0]
				return v.Add(e)
			})
		}
		if err == nil {
			v.Checkpoint = heads[len(heads)-1]
			err = v.End(head)
		}
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(c.out, "%d rows hold, up to row %d\n", head.Count-v.After.Count, head.Count)
		return err
	})
}

func (c cli) exportAudit() *cobra.Command {
	return c.sending("audit export", cobra.NoArgs, nil, func(ctx context.Context, to *connection, _ []string) error {
		return to.entries(ctx, listOptions{all: true}, func(e *audit.Entry) error {
			line, err := ocsf(e)
			if err == nil {
				_, err = c.out.Write(append(line, '\n'))
			}
			return err
		})
	})
}

// readCheckpoints returns the heads of an org in a file, that with the most rows last. All of them count: after a
// cut, the server signs what is left. The last line may be one that a server has not completed.
func readCheckpoints(file, key string, org auth.OrgKey) (heads []audit.Head, err error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	lines := strings.SplitAfter(string(text), "\n")
	for i, line := range lines {
		head, by, err := audit.ReadCheckpoint(line)
		switch {
		case err != nil && i == len(lines)-1: // has no newline; "" if the file is whole
		case err != nil:
			return nil, fmt.Errorf("%s: line %d: %w", file, i+1, err)
		case key != "" && key != base64.RawURLEncoding.EncodeToString(by):
			return nil, fmt.Errorf("%s: line %d: another key has signed it", file, i+1)
		case head.Org == org:
			heads = append(heads, head)
		}
	}
	if len(heads) == 0 {
		return nil, fmt.Errorf("%s: no checkpoint of %q", file, org)
	}
	slices.SortStableFunc(heads, func(a, b audit.Head) int { return cmp.Compare(a.Count, b.Count) })
	return slices.Compact(heads), nil
}

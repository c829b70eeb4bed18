package main

import (
	"fmt"
	"math/rand/v2"
	"net/url"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// condition is a filter in two forms: the JSON that is sent, and a Go function on
// the seeded objects.
type condition struct {
	where   string
	matches func(o *object) bool
}

// has returns a value, and reports whether it exists and is not null.
func has(o *object, path string) (any, bool) {
	v := o.Values[path]
	return v, v != nil
}

// randomCondition makes a random condition of limited depth.
func randomCondition(rng *rand.Rand, depth int) condition {
	if depth > 0 && rng.IntN(2) == 0 {
		a, b := randomCondition(rng, depth-1), randomCondition(rng, depth-1)
		switch rng.IntN(3) {
		case 0:
			return condition{fmt.Sprintf(`{"$and":[%s,%s]}`, a.where, b.where),
				func(o *object) bool { return a.matches(o) && b.matches(o) }}
		case 1:
			return condition{fmt.Sprintf(`{"$or":[%s,%s]}`, a.where, b.where),
				func(o *object) bool { return a.matches(o) || b.matches(o) }}
		}
		return condition{fmt.Sprintf(`{"$nor":[%s,%s]}`, a.where, b.where),
			func(o *object) bool { return !a.matches(o) && !b.matches(o) }}
	}
	return randomComparison(rng)
}

func randomComparison(rng *rand.Rand) condition {
	likes := int64(rng.IntN(55))
	lang := []string{"en", "de", "fr", "pt", "xx"}[rng.IntN(5)]
	sent := demoEpoch.AddDate(0, 0, rng.IntN(2)).Format(dateLayout)
	switch rng.IntN(9) {
	case 0:
		return condition{fmt.Sprintf(`{"c_likes":{"$gte":%d}}`, likes), func(o *object) bool {
			n, ok := has(o, "c_likes")
			return ok && n.(int64) >= likes
		}}
	case 1:
		return condition{fmt.Sprintf(`{"c_likes":{"$ne":%d}}`, likes), func(o *object) bool {
			n, ok := has(o, "c_likes")
			return !ok || n.(int64) != likes
		}}
	case 2:
		return condition{`{"c_likes":{"$exists":false}}`, func(o *object) bool { _, ok := o.Values["c_likes"]; return !ok }}
	case 3:
		return condition{`{"c_meta.lang":null}`, func(o *object) bool { _, ok := has(o, languagePath); return !ok }}
	case 4:
		return condition{`{"c_meta.lang":{"$exists":true}}`, func(o *object) bool { _, ok := o.Values[languagePath]; return ok }}
	case 5:
		return condition{fmt.Sprintf(`{"c_meta.lang":{"$in":["en","%s"]}}`, lang), func(o *object) bool {
			v, _ := has(o, languagePath)
			return v == "en" || v == lang
		}}
	case 6:
		return condition{fmt.Sprintf(`{"c_sent":{"$lt":"%s"}}`, sent), func(o *object) bool { return o.Values[sentPath].(string) < sent }}
	case 7:
		return condition{`{"c_pinned":{"$not":{"$eq":true}}}`, func(o *object) bool { return o.Values["c_pinned"] != true }}
	}
	author := demoID(acme, "account", 1+rng.IntN(3))
	return condition{fmt.Sprintf(`{"c_author":"%s"}`, author), func(o *object) bool { return o.Values[authorPath] == author }}
}

// TestWhere compares the server with the Go functions, page by page.
func TestWhere(t *testing.T) {
	t.Parallel()
	s, all := startScoped(t), seeded(fewMessages)
	rng := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		c := randomCondition(rng, 3)
		want := idsOf(slices.DeleteFunc(slices.Clone(all), func(o *object) bool { return !c.matches(o) }))
		skip, limit := rng.IntN(30), 1+rng.IntN(1000)
		more := len(want) > skip+limit
		want = append([]string(nil), want[min(skip, len(want)):min(skip+limit, len(want))]...)

		path := fmt.Sprintf("/c_messages?skip=%d&limit=%d&where=%s", skip, limit, url.QueryEscape(c.where))
		if diff := cmp.Diff(want, listed(t, s.get(t, path, "*"), more)); diff != "" {
			t.Fatalf("%s skip %d limit %d (-want +got):\n%s", c.where, skip, limit, diff)
		}
	}
}

// listed returns the ids of a page.
func listed(t *testing.T, got answer, more bool) (ids []string) {
	t.Helper()
	for _, item := range items(t, got.ok(t), more) {
		ids = append(ids, item.(value)["_id"].(string))
	}
	return ids
}

// TestNestedWhere sends the arguments of a list property in both spellings.
func TestNestedWhere(t *testing.T) {
	t.Parallel()
	s := startScoped(t)
	one := "/c_conversations/" + demoID(acme, "c_conversation", 2)
	arguments := func(prefix string) string {
		return prefix + "limit=3&" + prefix + "skip=1&" + prefix + "sort=" + url.QueryEscape(`{"c_likes":-1}`) +
			"&" + prefix + "where=" + url.QueryEscape(`{"c_likes":{"$lt":40},"c_pinned":false}`)
	}
	want := slices.DeleteFunc(seeded(fewMessages)[:250], func(o *object) bool {
		n, ok := has(o, "c_likes")
		return !ok || n.(int64) >= 40 || o.Values["c_pinned"] != false
	})
	slices.SortStableFunc(want, func(a, b *object) int { return int(b.Values["c_likes"].(int64) - a.Values["c_likes"].(int64)) })
	ids := idsOf(want[1:4])

	nested := s.get(t, one+"?paths[]=c_messages&"+arguments("c_messages."), "*").ok(t)["c_messages"].(value)
	var got []string
	for _, item := range items(t, nested, true) {
		got = append(got, item.(value)["_id"].(string))
	}
	if diff := cmp.Diff(ids, got); diff != "" {
		t.Errorf("prefixed (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(ids, listed(t, s.get(t, one+"/c_messages?"+arguments(""), "*"), true)); diff != "" {
		t.Errorf("route of its own (-want +got):\n%s", diff)
	}
	t.Run("a list that only one object shows has its arguments", func(t *testing.T) {
		chains := []string{"object.read.c_conversation.*.c_title", "object.read.c_conversation." + conversation3 + ".c_messages"}
		got := items(t, s.get(t, "/c_conversations?limit=3&paths[]=c_messages&c_messages.limit=2", chains...).ok(t), true)
		for n, item := range got {
			list, shown := item.(value)["c_messages"].(value)
			if shown != (n == 2) || shown && len(items(t, list, true)) != 2 {
				t.Errorf("%v", item)
			}
		}
	})
}

package main

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"testing"

	"github.com/casbin/casbin/v2"
	"github.com/casbin/casbin/v2/model"
	"github.com/cedar-policy/cedar-go"
	"github.com/minio/pkg/v3/wildcard"
	"github.com/nats-io/nats-server/v2/server/gsl"
	"github.com/ory/fosite"

	"github.com/tenantkit/tenantkit/scope"
)

func TestScope(t *testing.T)          { testScopes(t, scopePrefix, byParts) }
func TestScopeText(t *testing.T)      { testScopes(t, scopeTextPrefix, byText) }
func BenchmarkScope(b *testing.B)     { benchmarkScopes(b, byParts) }
func BenchmarkScopeText(b *testing.B) { benchmarkScopes(b, byText) }

func testScopes(t *testing.T, prefix string, all []scoped) {
	for _, n := range counts {
		t.Run(n, func(t *testing.T) { check(t, prefix+n, scopes(t, n, all)) })
	}
}

func benchmarkScopes(b *testing.B, all []scoped) {
	for _, n := range counts {
		b.Run(n, func(b *testing.B) { race(b, scopes(b, n, all)) })
	}
}

// operation is an operation in parts.
type operation struct {
	verb       scope.Verb
	object, id string
}

func (o operation) text() string { return "object." + string(o.verb) + "." + o.object + "." + o.id }

func instance(i int) operation {
	return operation{scope.Read, "c_message", fmt.Sprintf("%024x", i*7919)}
}

func instances(n int) []operation {
	list := make([]operation, n)
	for i := range list {
		list[i] = instance(i)
	}
	return list
}

// decider compiles a list to a check. The check gets an operation and returns a call
// that decides it.
type decider func(t testing.TB, list []operation) func(operation) func() bool

type scoped struct {
	name    string
	compile decider
}

// byParts get an operation in parts, and build their own form of it with each check,
// unless a note says otherwise. byText get its finished text.
var (
	byParts = []scoped{
		{"map", mapScope}, {ours, typedScope}, {"tenantkit need", needScope},
		{"casbin", casbinScope}, {"casbin cached", casbinCached}, {"cedar-go", cedarScope},
	}
	byText = []scoped{
		{"map", mapScope}, {ours, textScope},
		{"fosite wildcard", listScope(fosite.WildcardScopeStrategy)},
		{"fosite hierarchic", listScope(fosite.HierarchicScopeStrategy)},
		{"minio wildcard", listScope(minioScope)}, {"NATS sublist", natsScope},
	}
)

func scopes(t testing.TB, count string, all []scoped) (contenders []contender) {
	n, err := strconv.Atoi(count)
	if err != nil {
		t.Fatal(err)
	}
	list := instances(n)
	good := list[n/2]
	bad := map[string]operation{
		"another instance": instance(n),
		"another verb":     {scope.Update, good.object, good.id},
		"another object":   {good.verb, "c_other", good.id},
		"a longer id":      {good.verb, good.object, good.id + "0"},
	}
	for _, s := range all {
		decide := s.compile(t, list)
		call := func(o operation) func() error {
			allowed := decide(o)
			return func() error {
				if !allowed() {
					return errRefused
				}
				return nil
			}
		}
		c := contender{name: s.name, good: call(good), bad: map[string]func() error{}}
		for name, o := range bad {
			c.bad[name] = call(o)
		}
		contenders = append(contenders, c)
	}
	return contenders
}

func texts(list []operation) []string {
	all := make([]string, len(list))
	for i, o := range list {
		all[i] = o.text()
	}
	return all
}

func mapCompile(texts []string) map[string]bool {
	keys := map[string]bool{}
	for _, text := range texts {
		keys[text] = true
	}
	return keys
}

func mapScope(_ testing.TB, list []operation) func(operation) func() bool {
	keys := mapCompile(texts(list))
	return func(o operation) func() bool {
		text := o.text()
		return func() bool { return keys[text] }
	}
}

func compiled(t testing.TB, list []operation) scope.Set {
	set, err := scope.Compile("token", texts(list)...)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

func typedScope(t testing.TB, list []operation) func(operation) func() bool {
	set := compiled(t, list)
	return func(o operation) func() bool {
		return func() bool { return set.Allows(scope.Object(o.verb, o.object, o.id, "")) }
	}
}

func textScope(t testing.TB, list []operation) func(operation) func() bool {
	set := compiled(t, list)
	return func(o operation) func() bool {
		text := o.text()
		return func() bool {
			need, err := scope.ParseNeed(text)
			return err == nil && set.Allows(need)
		}
	}
}

func needScope(t testing.TB, list []operation) func(operation) func() bool {
	set := compiled(t, list)
	return func(o operation) func() bool {
		need := scope.Object(o.verb, o.object, o.id, "")
		return func() bool { return set.Allows(need) }
	}
}

// listScope is a strategy that loops over a list.
func listScope(strategy func(list []string, text string) bool) decider {
	return func(_ testing.TB, list []operation) func(operation) func() bool {
		all := texts(list)
		return func(o operation) func() bool {
			text := o.text()
			return func() bool { return strategy(all, text) }
		}
	}
}

func minioScope(list []string, text string) bool {
	return slices.ContainsFunc(list, func(pattern string) bool { return wildcard.Match(pattern, text) })
}

func natsCompile(texts []string) (*gsl.SimpleSublist, error) {
	tree := gsl.NewSimpleSublist()
	for _, text := range texts {
		if err := tree.Insert(text, struct{}{}); err != nil {
			return nil, err
		}
	}
	return tree, nil
}

func natsScope(t testing.TB, list []operation) func(operation) func() bool {
	tree, err := natsCompile(texts(list))
	if err != nil {
		t.Fatal(err)
	}
	return func(o operation) func() bool {
		text := o.text()
		return func() bool { return tree.HasInterest(text) }
	}
}

const casbinModel = `
[request_definition]
r = obj, id, act
[policy_definition]
p = obj, id, act
[policy_effect]
e = some(where (p.eft == allow))
[matchers]
m = r.act == p.act && r.obj == p.obj && r.id == p.id
`

func casbinRules(list []operation) [][]string {
	rules := make([][]string, len(list))
	for i, o := range list {
		rules[i] = []string{o.object, o.id, string(o.verb)}
	}
	return rules
}

func casbinCompile(rules [][]string) (*casbin.Enforcer, error) {
	m, err := model.NewModelFromString(casbinModel)
	if err != nil {
		return nil, err
	}
	e, err := casbin.NewEnforcer(m)
	if err != nil {
		return nil, err
	}
	_, err = e.AddPolicies(rules)
	return e, err
}

func casbinScope(t testing.TB, list []operation) func(operation) func() bool {
	e, err := casbinCompile(casbinRules(list))
	if err != nil {
		t.Fatal(err)
	}
	return casbinDecides(e.Enforce)
}

func casbinCached(t testing.TB, list []operation) func(operation) func() bool {
	m, err := model.NewModelFromString(casbinModel)
	if err != nil {
		t.Fatal(err)
	}
	e, err := casbin.NewCachedEnforcer(m)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.AddPolicies(casbinRules(list)); err != nil {
		t.Fatal(err)
	}
	return casbinDecides(e.Enforce)
}

func casbinDecides(enforce func(...any) (bool, error)) func(operation) func() bool {
	return func(o operation) func() bool {
		return func() bool {
			allowed, err := enforce(o.object, o.id, string(o.verb))
			return err == nil && allowed
		}
	}
}

// cedarText returns one policy for each operation.
func cedarText(list []operation) []byte {
	var text bytes.Buffer
	for _, o := range list {
		fmt.Fprintf(&text, "permit (principal, action == Action::%q, resource == %s::%q);\n", o.verb, o.object, o.id)
	}
	return text.Bytes()
}

func cedarScope(t testing.TB, list []operation) func(operation) func() bool {
	policies, err := cedar.NewPolicySetFromBytes("policy.cedar", cedarText(list))
	if err != nil {
		t.Fatal(err)
	}
	entities := cedar.EntityMap{}
	return func(o operation) func() bool {
		return func() bool {
			decision, _ := cedar.Authorize(policies, entities, cedar.Request{
				Principal: cedar.NewEntityUID("Account", subject),
				Action:    cedar.NewEntityUID("Action", cedar.String(o.verb)),
				Resource:  cedar.NewEntityUID(cedar.EntityType(o.object), cedar.String(o.id)),
			})
			return decision == cedar.Allow
		}
	}
}

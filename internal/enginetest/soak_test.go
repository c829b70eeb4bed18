package enginetest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

const (
	soakEvery = 20 * time.Millisecond // between requests of each of four clients

	// soakRemembered is how long a claim lives in Redis at most, with the tolerance of the reference server.
	soakRemembered = 8 * time.Minute

	soakWAL = 64 // MiB, max_wal_size
	soakAOF = 16 // MiB, from which on Redis rewrites its file
)

// soak is three instances of the reference server on PostgreSQL and Redis, which fail in turn.
type soak struct {
	f          *fleet
	pg         *server
	redis      *redisServer
	pgThrough  *proxy
	redThrough *proxy
	begin, end time.Time

	signed  atomic.Int64
	mu      sync.Mutex
	results map[string]int
	faults  map[string]int
	samples []soakSample
}

// soakSample is what must not grow, at one time.
type soakSample struct {
	at       float64            // seconds
	values   map[string]float64 // bytes and counts, by what and where
	accepted int64              // signed requests until then
}

// TestSoak puts load on three instances on PostgreSQL and Redis for the time in SOAK, while the servers are
// restarted, an instance is frozen and connections are cut. What was true before stays true, and memory,
// descriptors, connections, keys, and the logs of both engines are flat after the first third:
//
//	SOAK=4h go test -v -timeout 5h -run '^TestSoak$' ./internal/enginetest
func TestSoak(t *testing.T) {
	length, err := time.ParseDuration(os.Getenv("SOAK"))
	if err != nil {
		t.Skip("SOAK is no duration, such as 10m")
	}
	s := startSoak(t)
	cookie, ended, accepted := s.f.login(t, 0), s.f.login(t, 1), s.f.signed("GET", "/accounts/me", "")
	token, _ := s.f.mint(t, fmt.Sprintf(`{"sub":%q,"scope":[""],"permanent":true}`, s.f.facts["account_id"]))
	revoked, jti := s.f.mint(t, fmt.Sprintf(`{"sub":%q,"scope":[""],"permanent":true}`, s.f.facts["account_id"]))
	for what, w := range map[string]wish{
		"logout": withCookie("POST", "/accounts/me/logout", ended), "a signed request": accepted,
		"revoke": s.f.signed("DELETE", "/apps/"+s.f.facts["client_key"]+"/tokens/"+jti, ""),
	} {
		if got := s.f.send(t, 0, w); got.status != http.StatusOK {
			t.Fatalf("%s: %d %s", what, got.status, got.body)
		}
	}
	s.begin, s.end = time.Now(), time.Now().Add(length)
	var all sync.WaitGroup
	for n := range 4 {
		all.Go(func() { s.client(n, cookie, token) })
	}
	all.Go(func() { s.logins() })
	all.Go(func() { s.watch(t) })
	s.fail(t)
	all.Wait()

	for _, i := range s.f.instances {
		i.await(t)
	}
	for at := range s.f.instances {
		for what, c := range map[string]struct {
			w    wish
			want int
		}{
			"the session":              {withCookie("GET", "/accounts/me", cookie), 200},
			"the token":                {bearing("GET", "/accounts/me", token), 200},
			"a signed request":         {s.f.signed("GET", "/accounts/me", ""), 200},
			"the session that ended":   {withCookie("GET", "/accounts/me", ended), 401},
			"the token that was ended": {bearing("GET", "/accounts/me", revoked), 401},
			"the request of before":    {accepted, 401},
		} {
			if got := s.f.send(t, at, c.w); got.status != c.want {
				t.Errorf("%s, at instance %d at the end: %d %s", what, at, got.status, got.body)
			}
		}
	}
	s.judge(t, length)
}

func startSoak(t *testing.T) *soak {
	s := &soak{results: map[string]int{}, faults: map[string]int{}}
	var err error
	s.pg, err = startPostgres("-c", "fsync=on", "-c", "checkpoint_timeout=30s", "-c", "min_wal_size=32MB", "-c", fmt.Sprintf("max_wal_size=%dMB", soakWAL))
	skipUninstalled(t, err)
	t.Cleanup(s.pg.stop)
	s.redis = startRedis(t, "--appendfsync", "always", "--auto-aof-rewrite-min-size", fmt.Sprintf("%dmb", soakAOF))
	address := strings.Split(strings.Split(s.pg.source, "@")[1], "/")[0]
	s.pgThrough, s.redThrough = startProxy(t, address), startProxy(t, s.redis.addr())
	s.f = newFleet(t, 3, []string{"-db", strings.Replace(s.pg.source, address, s.pgThrough.addr(), 1), "-redis", "redis://" + s.redThrough.addr(),
		"-sealing-key-file", filepath.Join(t.TempDir(), "key"), "-store-timeout", "500ms", "-max-session", "24h"})
	return s
}

// ask sends a request to an instance, and counts its result.
func (s *soak) ask(client *http.Client, kind string, w wish) (o outcome) {
	r, err := http.NewRequest(w.method, s.f.instances[rand.IntN(len(s.f.instances))].url+"/acme/v2"+w.path, strings.NewReader(w.body))
	if err == nil {
		if w.header != nil {
			r.Header = w.header.Clone()
		}
		r.Header.Set("Content-Type", "application/json")
		var reply *http.Response
		if reply, err = client.Do(r); err == nil {
			defer reply.Body.Close()
			o.status, o.header = reply.StatusCode, reply.Header
			o.body, err = io.ReadAll(reply.Body)
		}
	}
	var fault struct{ ErrCode string }
	json.Unmarshal(o.body, &fault)
	_, o.detail, _ = strings.Cut(fault.ErrCode, ".")
	result := fmt.Sprint(kind, " ", o.status, " ", o.detail)
	if err != nil {
		result = kind + " no response"
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.results[result]++
	return o
}

// client sends requests of all kinds until the end.
func (s *soak) client(n int, cookie, token string) {
	client, tick := &http.Client{Timeout: 5 * time.Second}, time.NewTicker(soakEvery)
	defer tick.Stop()
	for i := n; time.Now().Before(s.end); i++ {
		<-tick.C
		switch i % 4 {
		case 0, 1:
			s.signed.Add(1)
			s.ask(client, "signed", s.f.signed("GET", []string{"/accounts/me", "/c_messages?limit=10"}[i%2], ""))
		case 2:
			s.ask(client, "session", withCookie("GET", "/accounts/me", cookie))
		case 3:
			s.ask(client, "bearer", bearing("GET", "/connections?limit=10", token))
		}
	}
}

// logins logs in and out, and creates and deletes an app, over and over.
func (s *soak) logins() {
	client := &http.Client{Timeout: 5 * time.Second}
	for time.Now().Before(s.end) {
		time.Sleep(2 * time.Second)
		got := s.ask(client, "login", wish{"POST", "/accounts/login", s.f.credentials(s.f.facts["account_password"]), nil})
		if cookie, _, _ := strings.Cut(got.header.Get("Set-Cookie"), ";"); got.status == http.StatusOK {
			s.ask(client, "logout", withCookie("POST", "/accounts/me/logout", cookie))
		}
		s.signed.Add(2)
		got = s.ask(client, "app", s.f.signed("POST", "/apps", `{"name":"soak"}`))
		var made struct {
			ID string `json:"_id"`
		}
		if json.Unmarshal(got.body, &made); got.status == http.StatusOK {
			s.ask(client, "app deleted", s.f.signed("DELETE", "/apps/"+made.ID, ""))
		}
	}
}

// fail makes one fault after the other, and waits in between.
func (s *soak) fail(t *testing.T) {
	r := rand.New(rand.NewPCG(historySeed(), 0))
	all := []struct {
		name string
		make func()
	}{
		{"Redis is killed", func() { s.redis.kill(t); s.redis.start(t) }},
		{"PostgreSQL is killed", func() {
			s.pg.process.Process.Kill()
			s.pg.process.Wait()
			s.pg.awaitEnd(t)
			if err := s.pg.again(); err != nil {
				t.Error(err)
			}
		}},
		{"an instance is frozen", func() {
			p := s.f.instances[r.IntN(len(s.f.instances))].process.Process
			p.Signal(syscall.SIGSTOP)
			time.Sleep(time.Duration(200+r.IntN(1800)) * time.Millisecond)
			p.Signal(syscall.SIGCONT)
		}},
		{"Redis is frozen", func() {
			s.redis.signal(t, syscall.SIGSTOP)
			time.Sleep(time.Duration(200+r.IntN(1800)) * time.Millisecond)
			s.redis.signal(t, syscall.SIGCONT)
		}},
		{"connections are cut", func() { s.pgThrough.cut(); s.redThrough.cut() }},
		{"responses are lost", func() {
			p := []*proxy{s.pgThrough, s.redThrough}[r.IntN(2)]
			p.set(false, time.Minute)
			time.Sleep(time.Duration(r.IntN(500)) * time.Millisecond)
			p.cut()
			p.set(false, 0)
		}},
	}
	// The last tenth is without faults, so that what they leave can end.
	for last := s.end.Add(-s.end.Sub(s.begin) / 10); ; {
		time.Sleep(time.Duration(2000+r.IntN(3000)) * time.Millisecond)
		if time.Now().After(last) {
			return
		}
		fault := all[r.IntN(len(all))]
		s.faults[fault.name]++
		fault.make()
	}
}

// watch takes samples until the end.
func (s *soak) watch(t *testing.T) {
	pause := max(time.Second, s.end.Sub(s.begin)/1000)
	for time.Now().Before(s.end) {
		time.Sleep(pause)
		if sample := s.sample(t); sample.values != nil {
			s.samples = append(s.samples, sample)
		}
	}
}

// sample has no values if a server is away.
func (s *soak) sample(t *testing.T) soakSample {
	v := map[string]float64{}
	for n, i := range s.f.instances {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", i.process.Process.Pid))
		open, err2 := os.ReadDir(fmt.Sprintf("/proc/%d/fd", i.process.Process.Pid))
		if err != nil || err2 != nil {
			t.Errorf("instance %d has ended: %s", n, i.log)
			return soakSample{}
		}
		pages, _ := strconv.ParseFloat(string(bytes.Fields(text)[1]), 64)
		v[fmt.Sprintf("memory of instance %d", n)] = pages * float64(os.Getpagesize())
		v[fmt.Sprintf("descriptors of instance %d", n)] = float64(len(open))
	}
	info, err := s.redis.operator(t.Context(), "INFO", "everything")
	keys, err2 := s.redis.operator(t.Context(), "DBSIZE")
	var size, connections, wal float64
	err3 := s.pg.db.QueryRow(`SELECT pg_database_size(current_database()), (SELECT count(*) FROM pg_stat_activity), (SELECT sum(size) FROM pg_ls_waldir())`).
		Scan(&size, &connections, &wal)
	if err != nil || err2 != nil || err3 != nil {
		return soakSample{}
	}
	for what, name := range map[string]string{"memory of Redis": "used_memory", "file of Redis": "aof_current_size", "clients of Redis": "connected_clients"} {
		_, after, _ := strings.Cut(info.(string), "\n"+name+":")
		after, _, _ = strings.Cut(after, "\r")
		v[what], _ = strconv.ParseFloat(after, 64)
	}
	v["keys of Redis"], v["database"], v["connections of PostgreSQL"], v["WAL"] = float64(keys.(int64)), size, connections, wal
	return soakSample{time.Since(s.begin).Seconds(), v, s.signed.Load()}
}

// judge compares what grew after the warm-up with what may.
func (s *soak) judge(t *testing.T, length time.Duration) {
	for _, counts := range []map[string]int{s.faults, s.results} {
		for _, name := range slices.Sorted(maps.Keys(counts)) {
			t.Logf("%7d %s", counts[name], name)
		}
	}
	for result, n := range s.results {
		// After a restart of Redis what was signed before is stale once. Neither session nor token may end.
		if strings.Contains(result, " 500 ") || strings.HasPrefix(result, "session 401") || strings.HasPrefix(result, "bearer 401") {
			t.Errorf("%d times %s", n, result)
		}
	}
	warm := max(length/3, min(soakRemembered, length/2)).Seconds()
	later := slices.DeleteFunc(slices.Clone(s.samples), func(x soakSample) bool { return x.at < warm })
	if len(later) < 5 {
		t.Fatalf("%d samples of %d after the warm-up", len(later), len(s.samples))
	}
	last := later[len(later)-1]
	const MiB = 1 << 20
	t.Logf("%-28s %12s %12s %12s", "", "first", "last", "growth")
	for _, what := range slices.Sorted(maps.Keys(last.values)) {
		grown, mean := growth(later, what)
		most := max(mean/10, 16*MiB)
		switch {
		case strings.HasPrefix(what, "descriptors"), strings.HasPrefix(what, "connections"), strings.HasPrefix(what, "clients"):
			most = 16
		case what == "keys of Redis":
			most = mean / 10
		case strings.HasPrefix(what, "memory of instance") && length < 5*time.Minute: // a few collections of garbage
			most = 64 * MiB
		case what == "WAL", what == "file of Redis": // they go up and down
			most = max(2*soakWAL*MiB, 3*last.values["memory of Redis"])
		}
		t.Logf("%-28s %12.0f %12.0f %12.0f", what, later[0].values[what], last.values[what], grown)
		if slices.Contains([]string{"keys of Redis", "memory of Redis"}, what) && length < 3*soakRemembered {
			continue // the first claims still live, so there are more and more
		}
		if grown > most {
			t.Errorf("%s grows by %.0f in %.0f s after the warm-up, more than %.0f", what, grown, last.at-later[0].at, most)
		}
	}
	s.explains(t, last)
}

// explains compares the keys of Redis with the requests that it has to remember: two keys each.
func (s *soak) explains(t *testing.T, last soakSample) {
	var before int64
	for _, x := range s.samples {
		if x.at < last.at-soakRemembered.Seconds() {
			before = x.accepted
		}
	}
	if most := float64(2*(last.accepted-before) + 500); last.values["keys of Redis"] > most {
		t.Errorf("%.0f keys, and at most %.0f live", last.values["keys of Redis"], most)
	}
}

// growth is the slope of the best line through samples, times the time between the first and the last.
func growth(samples []soakSample, what string) (grown, mean float64) {
	var x, y, xx, xy float64
	n := float64(len(samples))
	for _, s := range samples {
		x, y = x+s.at/n, y+s.values[what]/n
	}
	for _, s := range samples {
		xx, xy = xx+(s.at-x)*(s.at-x), xy+(s.at-x)*(s.values[what]-y)
	}
	return xy / xx * (samples[len(samples)-1].at - samples[0].at), y
}

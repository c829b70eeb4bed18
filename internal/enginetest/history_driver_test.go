package enginetest

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"sort"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/tenantkit/tenantkit/internal/history"
)

const (
	historyWorkers = 3
	historyClients = 8 // of each worker

	// mostUnknown is how many calls of a group may have no outcome before it rests: each doubles what is
	// to be tried.
	mostUnknown = 5

	firstCalls = 22 // of a group; the others come later, perhaps after a fault, and at the end
)

// historyDriver sends calls to workers, and stamps both ends by its own clock.
type historyDriver struct {
	instance historyInstance
	seed     uint64
	begin    time.Time
	groups   int64
	kinds    []string

	workers [historyWorkers]*historyWorker

	mu      sync.Mutex
	now     map[string][2]*history.Group
	resting []*history.Group
	calls   map[string][]history.Op // by kind and group
	unknown map[int64]int           // calls without an outcome, by group
	clients int
}

// historyWorker is a process that makes calls.
type historyWorker struct {
	process *exec.Cmd
	in      *os.File

	mu      sync.Mutex
	write   *json.Encoder
	next    int64
	waiting map[int64]chan history.Op // nil once the process is dead
}

// newHistory starts workers for calls of some kinds, or of all that the engine has.
func newHistory(t testing.TB, i historyInstance, seed uint64, kinds ...string) *historyDriver {
	t.Helper()
	i.Run, i.Pool = fmt.Sprintf("%x-%x", seed, time.Now().UnixNano()), max(i.Pool, 1)
	d := &historyDriver{instance: i, seed: seed, begin: time.Now(), now: map[string][2]*history.Group{}, calls: map[string][]history.Op{}, unknown: map[int64]int{}, clients: historyWorkers * historyClients}
	d.kinds = []string{"claims", "tokens", "sessions", "attempts", "keys", "idempotency"}
	if i.Engine == "SQLite" || strings.HasPrefix(i.Engine, "P") {
		d.kinds = historyKinds
	}
	if kinds != nil {
		d.kinds = kinds
	}
	var wg sync.WaitGroup
	for n := range d.workers {
		wg.Go(func() { d.workers[n] = d.startWorker(t, n) })
	}
	wg.Wait()
	if t.Failed() {
		t.FailNow()
	}
	t.Cleanup(func() {
		for _, w := range d.workers {
			w.end()
		}
	})
	time.Sleep(5 * time.Millisecond) // the epoch
	return d
}

func (d *historyDriver) startWorker(t testing.TB, n int) *historyWorker {
	i := d.instance
	if i.Skew != 0 {
		i.Skew *= time.Duration(n - 1)
	}
	text, _ := json.Marshal(i)
	down, in, err1 := os.Pipe()
	out, up, err2 := os.Pipe()
	if err1 != nil || err2 != nil {
		t.Error(err1, err2)
		return nil
	}
	defer down.Close()
	defer up.Close()
	w := &historyWorker{process: exec.Command(os.Args[0], "-test.run=^TestHistoryWorker$", "-test.timeout=1h"), in: in, write: json.NewEncoder(in), waiting: map[int64]chan history.Op{}}
	w.process.Env = append(os.Environ(), "ENGINETEST_HISTORY="+string(text))
	w.process.Stdin, w.process.ExtraFiles = down, []*os.File{up}
	log := new(strings.Builder)
	w.process.Stdout = log
	w.process.SysProcAttr = &syscall.SysProcAttr{}
	endWithUs(w.process.SysProcAttr)
	if err := w.process.Start(); err != nil {
		t.Error(err)
		return nil
	}
	results := json.NewDecoder(out)
	var opened asked
	if err := results.Decode(&opened); err != nil {
		w.process.Wait()
		t.Errorf("a worker does not open its stores: %s", log)
		return w
	}
	go func() {
		defer out.Close()
		for {
			var a asked
			if results.Decode(&a) != nil {
				break
			}
			w.mu.Lock()
			c := w.waiting[a.ID]
			delete(w.waiting, a.ID)
			w.mu.Unlock()
			if c != nil {
				c <- a.Op
			}
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		for _, c := range w.waiting {
			close(c)
		}
		w.waiting = nil
	}()
	return w
}

// end kills the process.
func (w *historyWorker) end() {
	if w == nil || w.process.ProcessState != nil {
		return
	}
	w.process.Process.Kill()
	w.process.Wait()
	w.in.Close()
}

// call makes a call, and reports whether there was a process to make it.
func (w *historyWorker) call(d *historyDriver, o *history.Op) bool {
	c := make(chan history.Op, 1)
	w.mu.Lock()
	if w.waiting == nil {
		w.mu.Unlock()
		return false
	}
	w.next++
	w.waiting[w.next] = c
	o.From = int64(time.Since(d.begin))
	w.write.Encode(asked{w.next, *o})
	w.mu.Unlock()
	r, ok := <-c
	o.To = int64(time.Since(d.begin))
	o.Result, o.N, o.List, o.Error = r.Result, r.N, r.List, r.Error
	if !ok {
		o.Result, o.Error = history.Unknown, "killed"
	}
	return true
}

// group returns a group that has calls left.
func (d *historyDriver) group(r *rand.Rand) (*history.Group, int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if n := len(d.resting); n > 0 && r.IntN(6) == 0 {
		return d.resting[r.IntN(n)], history.MaxOps - 2
	}
	kind := d.kinds[r.IntN(len(d.kinds))]
	if kind == "rotations" && r.IntN(4) > 0 && len(d.kinds) > 1 {
		kind = "tokens"
	}
	two := d.now[kind]
	at := r.IntN(2)
	if two[at] == nil {
		d.groups++
		two[at] = history.NewGroup(kind, d.groups, time.Now().UnixMilli(), d.seed)
		d.now[kind] = two
	}
	return two[at], firstCalls
}

// rest begins a new group in the place of one that has had its first calls.
func (d *historyDriver) rest(g *history.Group) {
	d.mu.Lock()
	defer d.mu.Unlock()
	two := d.now[g.Kind]
	for i := range two {
		if two[i] == g {
			two[i] = nil
			d.resting = append(d.resting, g)
		}
	}
	d.now[g.Kind] = two
}

// client makes calls until the end. A client whose call has no outcome gets a new name.
func (d *historyDriver) client(n int, end time.Time) {
	r := rand.New(rand.NewPCG(d.seed, uint64(n)))
	name := n
	for time.Now().Before(end) {
		g, most := d.group(r)
		o, ok := g.Next(most)
		if !ok {
			d.rest(g)
			continue
		}
		result := d.do(n, &o, name)
		if result == history.Unknown {
			d.mu.Lock()
			d.clients++
			name = d.clients
			d.unknown[g.ID]++
			many := d.unknown[g.ID] >= mostUnknown
			d.mu.Unlock()
			if many {
				d.rest(g)
			}
		}
		if result == history.Unknown || result == notDone {
			time.Sleep(20 * time.Millisecond)
		}
	}
}

func (d *historyDriver) do(n int, o *history.Op, name int) string {
	o.Client = name
	for {
		d.mu.Lock()
		w := d.workers[n%historyWorkers]
		d.mu.Unlock()
		if w.call(d, o) {
			break
		}
		time.Sleep(5 * time.Millisecond)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if o.Result == notDone {
		return notDone
	}
	key := fmt.Sprint(o.Kind, " ", o.Group)
	d.calls[key] = append(d.calls[key], *o)
	return o.Result
}

// run makes calls for a time, beside the faults, and then asks for what must have stayed.
func (d *historyDriver) run(t testing.TB, length time.Duration, faults historyFaults) {
	t.Helper()
	end := time.Now().Add(length)
	var wg sync.WaitGroup
	for n := range historyWorkers * historyClients {
		wg.Go(func() { d.client(n, end) })
	}
	if faults != nil {
		faults(d, rand.New(rand.NewPCG(d.seed, math.MaxUint64)), end)
	}
	wg.Wait()
	for _, two := range d.now {
		d.resting = append(d.resting, two[:]...)
	}
	d.resting = slices.DeleteFunc(d.resting, func(g *history.Group) bool { return g == nil })
	asks := make(chan *history.Group)
	for n := range historyWorkers * 2 {
		wg.Go(func() {
			for g := range asks {
				for o, ok := g.Next(history.MaxOps); ok; o, ok = g.Next(history.MaxOps) {
					until(func() bool { return d.do(n, &o, -1-n) != notDone }) // the clients may have to learn of a new primary
				}
			}
		})
	}
	for _, g := range d.resting {
		asks <- g
	}
	close(asks)
	wg.Wait()
}

// restart starts another process in the place of a worker.
func (d *historyDriver) restart(t testing.TB, n int) {
	w := d.startWorker(t, n)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.workers[n] = w
}

// historyVerdict is the result for one kind.
type historyVerdict struct {
	calls, unknown, groups, undecided, violations int
	first                                         string // the shortest history that is impossible
	found                                         int    // calls of the kind that were over when it became so
	lost                                          string // a call without an outcome
	results                                       map[string]int
}

var historyModel = map[string]porcupine.Model{}

func init() {
	for kind, k := range history.Kinds {
		historyModel[kind] = porcupine.Model{
			Init: func() any { return k.Start },
			Step: func(state, in, _ any) (bool, any) {
				o := in.(history.Op)
				after, ok := history.Step(state, &o)
				return ok, after
			},
		}
	}
}

// explains reports whether an order explains all results.
func explains(ops []history.Op) porcupine.CheckResult {
	var events []porcupine.Operation
	for _, o := range history.Steps(ops) {
		end := o.To
		if o.Result == history.Unknown {
			end = math.MaxInt64
		}
		events = append(events, porcupine.Operation{ClientId: o.Client + 100, Input: o, Call: o.From, Output: o, Return: end})
	}
	return porcupine.CheckOperationsTimeout(historyModel[ops[0].Kind], events, 5*time.Second)
}

// impossibleAt returns when a history became impossible: the calls that were over by then show it, and the
// others may have any result.
func impossibleAt(ops []history.Op) int64 {
	var ends []int64
	for _, o := range ops {
		ends = append(ends, o.To)
	}
	slices.Sort(ends)
	at := sort.Search(len(ends)-1, func(i int) bool {
		var until []history.Op
		for _, o := range ops {
			if o.To > ends[i] {
				o.Result = history.Unknown
			}
			if o.From <= ends[i] {
				until = append(until, o)
			}
		}
		return explains(until) == porcupine.Illegal
	})
	return ends[at]
}

// check decides all groups.
func (d *historyDriver) check() map[string]*historyVerdict {
	all, ends := map[string]*historyVerdict{}, map[string][]int64{}
	for _, kind := range d.kinds {
		all[kind] = &historyVerdict{results: map[string]int{}}
	}
	for _, ops := range d.calls {
		for _, o := range ops {
			ends[o.Kind] = append(ends[o.Kind], o.To)
		}
	}
	var wg sync.WaitGroup
	places := make(chan bool, 2)
	for _, ops := range d.calls {
		kind := ops[0].Kind
		slices.Sort(ends[kind])
		places <- true
		wg.Go(func() {
			result := explains(ops)
			d.mu.Lock()
			defer func() { d.mu.Unlock(); <-places }()
			v := all[kind]
			v.groups++
			for _, o := range ops {
				v.calls++
				v.results[o.Verb+" "+o.Result]++
				if o.Result == history.Unknown {
					v.unknown++
					v.lost = o.String()
				}
			}
			switch result {
			case porcupine.Unknown:
				v.undecided++
			case porcupine.Illegal:
				v.violations++
				before, _ := slices.BinarySearch(ends[kind], impossibleAt(ops))
				if v.first == "" || before < v.found {
					v.found, v.first = before, history.Describe(ops)
				}
			}
		})
	}
	wg.Wait()
	return all
}

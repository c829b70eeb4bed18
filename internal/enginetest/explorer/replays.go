package explorer

import (
	"cmp"
	"fmt"
	"slices"
)

// All times of the model are milliseconds, and those of a state count from its present: so two states that
// differ by the time alone are one. What is further back than all records live is at oldest.
const (
	KeepFor = 20_000    // how long a request is remembered, from its timestamp on
	Ahead   = 5_000     // of the clock of a client, in timestamps
	Wrong   = 3_600_000 // of the clock of the second instance, where it is wrong

	never, oldest = -1 << 30, -200_000
)

// kept is what is stored of a nonce or of a signature.
type kept struct {
	until int32 // never if there is none
	first int32 // of a nonce in PostgreSQL: when
	uses  int8  // of a signature
}

const (
	modelNonces     = 4 // the last one is that of an honest request beside those of the case
	modelSignatures = 3
	single          = 100 // uses of a signature that has no more
)

// held is what a server has, or what its replica or its disk has of it.
type held struct {
	begin, latest int32 // of the epoch; never if there is none
	swept         int32 // up to which end SQL may have deleted records; never: none
	known         bool  // whether the epoch is of the server that runs
	nonces        [modelNonces]kept
	signatures    [modelSignatures]kept
}

// Where a claim stops, because its engine can do something else meanwhile.
const (
	idle  = iota
	look  // SQLite: it has not looked. PostgreSQL: its statement has not begun
	write // SQLite: it has looked. PostgreSQL: its statement has read, and not written
	undo  // it has lost its signature to another one, and has written its nonce
	ask   // it does not know why it was refused
	begin // there is no epoch
)

// flight is a claim that has begun.
type flight struct {
	use, stage, tries int8
	at                int32 // the clock of its statement
	beside            bool  // another claim of its nonce has run meanwhile
}

// State is a state of the world.
type State struct {
	offset int32 // of the engine's clock
	at     [2]held
	script [2]bool // whether that server knows it; a mistake asks
	opened [2]int32
	begun  [2]bool
	flight [2]flight
	signed [modelSignatures]int32
	taken  [modelNonces]int8 // the truth: by how many accepted claims with each use
	lost   [modelNonces]bool // accepted before the epoch
	early  [modelNonces]bool // and then signed ahead of the engine's clock, which may have stepped back
}

// Use is a request: which nonce and signature it has, and how often the latter may be accepted.
type Use struct {
	Nonce, Signature, Siblings int8
	Ahead                      bool // of the clock
}

// Rule is the rule of one engine, with at most one mistake.
type Rule struct {
	Engine, Mistake string
	Uses            []Use
	Skewed          bool // the clock of the second instance is wrong
	Stepped         bool // Redis's clock steps back while no claim comes, as THREATS forbids
}

// Move is one step of the world. Use is that of Claim.
type Move struct{ Verb, Instance, Use int8 }

// The moves.
const (
	Claim = iota
	GoOn
	Tick
	Pass
	Long
	StepBack
	JumpBack
	Copy
	Switch
	Crash
	Sweep
	Reopen
)

func (m Move) String() string {
	switch m.Verb {
	case Claim:
		return fmt.Sprintf("instance %d claims request %d", m.Instance, m.Use)
	case GoOn:
		return fmt.Sprintf("instance %d goes on", m.Instance)
	case Reopen:
		return fmt.Sprintf("instance %d is restarted", m.Instance)
	}
	return []string{Tick: "1 ms passes", Pass: "14 s pass", Long: "90 s pass", StepBack: "the engine's clock steps back 9 s", JumpBack: "the engine's clock steps back 80 s",
		Copy: "the replica, or the disk, has all", Switch: "the replica takes over, and the primary becomes the replica",
		Crash: "the server ends, and starts with what was copied", Sweep: "expired records are deleted"}[m.Verb]
}

// Start is 1 ms after the begin of an epoch.
func (r *Rule) Start() (s State) {
	nothing := held{begin: never, latest: never, swept: never}
	for i := range nothing.nonces {
		nothing.nonces[i].until = never
	}
	for i := range nothing.signatures {
		nothing.signatures[i].until, s.signed[i] = never, never
	}
	s.at = [2]held{nothing, nothing}
	s.opened = [2]int32{never, never}
	switch r.Engine {
	case "Memory":
		s.opened[0] = -1
	case "SQLite":
		s.opened, s.begun, s.at[0].begin = [2]int32{-1, -1}, [2]bool{true, true}, -1
	default:
		s.at[0].begin, s.at[0].latest, s.at[0].known = -1, -1, true
	}
	return s
}

// Moves returns what can happen.
func (r *Rule) Moves(s State) (all []Move) {
	add := func(verb int8, on ...string) {
		if len(on) == 0 || slices.Contains(on, r.Engine) {
			all = append(all, Move{Verb: verb})
		}
	}
	calm := s.flight[0].stage == idle && s.flight[1].stage == idle
	for i := range int8(2) {
		switch {
		case s.flight[i].stage != idle:
			all = append(all, Move{GoOn, i, 0})
		case i == 0 || r.Skewed || r.Engine == "SQLite" || r.Engine == "PostgreSQL": // else instances do not differ
			for use := range r.Uses {
				all = append(all, Move{Claim, i, int8(use)})
			}
		}
		if r.Engine == "SQLite" && s.flight[i].stage == idle {
			all = append(all, Move{Reopen, i, 0})
		}
	}
	add(Tick)
	// No statement of PostgreSQL takes longer than a request is remembered: its caller would have given up.
	// Nor does its clock step while one runs.
	if r.Engine != "PostgreSQL" || s.flight[0].stage != write && s.flight[1].stage != write {
		add(Pass)
		add(Long, "SQLite", "PostgreSQL", "Redis")
		if s.offset > -80_000 {
			add(StepBack, "SQLite", "PostgreSQL", "Redis")
			if r.Stepped || r.Engine != "Redis" || s.at[0].latest+redisLatest >= s.offset {
				add(JumpBack, "SQLite", "PostgreSQL", "Redis")
			}
		}
	}
	add(Sweep, "SQLite", "PostgreSQL", "Redis")
	add(Copy, "SQLite", "PostgreSQL", "Redis")
	add(Switch, "PostgreSQL", "Redis")
	if r.Engine != "SQLite" || calm { // its file is put back while nobody has it open
		add(Crash)
	}
	return all
}

// Do makes a move, and says what a promise forbids.
func (r *Rule) Do(s State, m Move) (State, string) {
	_, wrong := r.Step(&s, m)
	if wrong == "" {
		wrong = r.probe(s)
	}
	return s, wrong
}

// Like returns s with its instances in an order.
func (r *Rule) Like(s State) State {
	a, b := s.flight[0], s.flight[1]
	if !r.Skewed && cmp.Or(cmp.Compare(a.stage, b.stage), cmp.Compare(a.use, b.use), cmp.Compare(a.tries, b.tries), cmp.Compare(a.at, b.at),
		cmp.Compare(s.opened[0], s.opened[1])) > 0 && r.Engine != "Memory" {
		s.flight[0], s.flight[1], s.opened[0], s.opened[1], s.begun[0], s.begun[1] = b, a, s.opened[1], s.opened[0], s.begun[1], s.begun[0]
	}
	return s
}

// Step makes a move, and returns the result of a claim that has ended.
func (r *Rule) Step(s *State, m Move) (result, wrong string) {
	switch m.Verb {
	case Claim:
		u := r.use(m.Use)
		if s.signed[u.Signature] == never || int(m.Use) == len(r.Uses) {
			s.signed[u.Signature] = 0
			if u.Ahead {
				s.signed[u.Signature] = Ahead
			}
		}
		return r.claim(s, m.Instance, m.Use)
	case GoOn:
		return r.goOn(s, m.Instance)
	case Tick:
		s.pass(1)
	case Pass:
		s.pass(14_000)
	case Long:
		s.pass(90_000)
	case StepBack, JumpBack:
		s.offset -= map[int8]int32{StepBack: 9_000, JumpBack: 80_000}[m.Verb]
	case Copy:
		s.at[1] = s.at[0]
	case Sweep:
		s.sweep(r.deletable(&s.at[0], s.offset))
	case Reopen:
		s.opened[m.Instance], s.begun[m.Instance] = s.offset, false
	case Switch:
		s.at[0], s.at[1] = s.at[1], s.at[0]
		s.script[0], s.script[1] = s.script[1], s.script[0]
		s.at[0].known, s.at[1].known = false, false
		s.endStatements()
	case Crash:
		r.crash(s)
	}
	return "", ""
}

func (r *Rule) crash(s *State) {
	if r.Engine == "Memory" {
		s.pass(1) // no process begins before the one before has ended
		s.at[0], s.opened[0] = r.Start().at[0], 0
		r.lose(s, 0)
		return
	}
	s.at[0] = s.at[1]
	if r.Mistake != "the epoch is that of the postmaster's start" {
		s.at[0].known, s.at[1].known = false, false
	}
	if r.Engine == "SQLite" {
		s.opened, s.begun = [2]int32{s.offset, s.offset}, [2]bool{}
	}
	s.endStatements()
}

// endStatements ends what ran inside of a statement. What comes between statements goes on.
func (s *State) endStatements() {
	for i, f := range s.flight {
		if f.stage == write {
			s.flight[i] = flight{}
		}
	}
}

// pass lets time pass: all times get earlier.
func (s *State) pass(d int32) {
	earlier := func(at *int32) {
		if *at != never {
			*at = max(*at-d, oldest)
		}
	}
	for i := range s.at {
		h := &s.at[i]
		earlier(&h.begin)
		earlier(&h.latest)
		earlier(&h.swept)
		earlier(&s.opened[i])
		if s.flight[i].stage != idle {
			earlier(&s.flight[i].at)
		}
		for n := range h.nonces {
			earlier(&h.nonces[n].until)
			if h.nonces[n].until != never {
				earlier(&h.nonces[n].first)
			}
		}
		for n := range h.signatures {
			earlier(&h.signatures[n].until)
		}
	}
	for i := range s.signed {
		earlier(&s.signed[i])
	}
}

const (
	sqlMargin = 60_000 // how far the clock of SQL may step back within an epoch
	sqlMark   = 10_000 // how often the epoch's row says what is deleted
)

// deletable returns up to which end records are deleted now. SQL first says so in the epoch's row.
func (r *Rule) deletable(h *held, now int32) int32 {
	switch {
	case r.Mistake == "what expires soon is deleted":
		return now + 15_000
	case r.Engine == "Redis", r.Mistake == "what was deleted is not said":
		return now
	case h.begin == never:
		return never
	case h.swept < now-sqlMargin-sqlMark:
		h.swept = now - sqlMargin
	}
	return h.swept
}

func (s *State) sweep(until int32) {
	h := &s.at[0]
	for i, n := range h.nonces {
		if n.until <= until {
			h.nonces[i] = kept{until: never}
		}
	}
	for i, n := range h.signatures {
		if n.until <= until {
			h.signatures[i] = kept{until: never}
		}
	}
}

func (r *Rule) if32(mistake string, n int32) int32 {
	if r.Mistake == mistake {
		return n
	}
	return 0
}

// use returns a request of the case, or the honest one beside them.
func (r *Rule) use(n int8) Use {
	if int(n) == len(r.Uses) {
		return Use{Nonce: modelNonces - 1, Signature: modelSignatures - 1, Siblings: 1}
	}
	return r.Uses[n]
}

// claim begins a claim, up to where it stops.
func (r *Rule) claim(s *State, instance, use int8) (result, wrong string) {
	f := flight{use: use, stage: look}
	if other := &s.flight[1-instance]; other.stage != idle && r.use(other.use).Nonce == r.use(use).Nonce {
		other.beside, f.beside = true, true
	}
	s.flight[instance] = f
	return r.goOn(s, instance)
}

// goOn makes the next step of a claim that the engine makes as one.
func (r *Rule) goOn(s *State, instance int8) (result, wrong string) {
	f := &s.flight[instance]
	switch r.Engine {
	case "Redis":
		result = r.redis(s, instance, f.use)
	case "Memory":
		result = r.memory(s, f.use)
	case "SQLite":
		result = r.sqlite(s, instance, f)
	case "PostgreSQL":
		result = r.postgres(s, f)
	}
	if result == "" {
		return "", ""
	}
	ended := *f
	*f = flight{}
	return result, r.judge(s, ended, result)
}

// judge compares the result of a claim with the promises of signing.Replays.
func (r *Rule) judge(s *State, f flight, result string) string {
	u, now, sameNonce, sameSignature := r.use(f.use), s.offset, int8(0), int8(0)
	for i := range r.Uses {
		v := r.Uses[i]
		// What an engine has lost is not accepted again, unless it was signed ahead of the clock. Another
		// request of a lost nonce is.
		forgiven := s.lost[i] && (s.early[i] || v.Signature != u.Signature)
		if s.taken[i] == 0 || forgiven || v != u && s.signed[v.Signature]+KeepFor <= now { // remembered for so long
			continue
		}
		if v.Nonce == u.Nonce {
			sameNonce += s.taken[i]
		}
		if v.Signature == u.Signature {
			sameSignature += s.taken[i]
			if v.Siblings == 1 {
				sameSignature = single
			}
		}
	}
	switch {
	case result == "ok" && sameNonce > 0:
		return "a nonce is accepted twice"
	case result == "ok" && sameSignature >= u.Siblings:
		return "a signature is accepted too often"
	case result == "replayed" && !f.beside && !r.everTaken(s, u):
		return "a request is refused as replayed, and nothing of it was accepted"
	}
	if result == "ok" && int(f.use) < len(r.Uses) {
		if s.lost[f.use] { // and forgiven
			s.taken[f.use] = 0
		}
		s.taken[f.use]++
		s.lost[f.use], s.early[f.use] = false, false
	}
	return ""
}

func (r *Rule) everTaken(s *State, u Use) bool {
	for i, v := range r.Uses {
		if s.taken[i] > 0 && (v.Nonce == u.Nonce || v.Signature == u.Signature) {
			return true
		}
	}
	return false
}

// newEpoch begins an epoch.
func (r *Rule) newEpoch(s *State, at int32) {
	h, clock := &s.at[0], at
	if r.Engine == "Redis" {
		clock = 0 // that of the caller, which Redis compares, too
	}
	if r.Mistake == "the epoch begins when the one before did" && h.begin != never {
		at = h.begin
	}
	h.begin, h.known = at, true
	r.lose(s, clock)
}

// lose remembers what was accepted before an epoch, and what of it was then ahead of the clock.
func (r *Rule) lose(s *State, clock int32) {
	for i, u := range r.Uses {
		s.lost[i] = s.taken[i] > 0
		s.early[i] = s.lost[i] && (u.Ahead || s.signed[u.Signature] > clock)
	}
}

func (r *Rule) inTime(h *held, signed, now int32) bool {
	return signed > h.begin-r.if32("the epoch's own millisecond is in it", 1) && signed+KeepFor > now
}

func (r *Rule) free(h *held, u Use) bool {
	return h.nonces[u.Nonce].until == never && r.unused(h, u)
}

// unused says whether the signature may be accepted.
func (r *Rule) unused(h *held, u Use) bool {
	g := h.signatures[u.Signature]
	return g.until == never || u.Siblings > 1 && g.uses < u.Siblings
}

// keep records a nonce and a signature.
func (r *Rule) keep(h *held, u Use, now, until int32) {
	if r.Mistake == "retention counts from the arrival" {
		until = now + (KeepFor-Ahead)/2
	}
	h.nonces[u.Nonce] = kept{until: until}
	if r.Engine == "PostgreSQL" {
		h.nonces[u.Nonce].first = now
	}
	if r.Mistake == "the nonce is kept, and the count of the signature is not" {
		return
	}
	g := &h.signatures[u.Signature]
	g.until = max(g.until, until)
	if g.uses++; u.Siblings == 1 && r.Mistake != "single use is not final" {
		g.uses = single
	}
}

const (
	redisMargin = 60_000
	redisLatest = 5_000  // how old the latest time of an epoch may be
	redisBack   = 10_000 // how far the server's clock may step back within an epoch
	redisAhead  = 300_000
)

// redis is epoch.lua and claim.lua.
func (r *Rule) redis(s *State, instance, use int8) string {
	h, u, now, seen := &s.at[0], r.use(use), s.offset, int32(0)
	if r.Skewed && instance == 1 {
		seen = Wrong
	}
	another := h.begin == never || !h.known || now < h.latest-redisBack
	switch r.Mistake {
	case "the epoch is compared only by a server that does not know the script":
		another = h.begin == never || (!s.script[0] || now > h.latest+redisLatest) && another
	case "a step back of the clock is not noticed":
		another = h.begin == never || !h.known
	case "each claim begins an epoch":
		another = true
	}
	s.script[0] = true
	if another {
		at := max(now, min(seen, now+redisAhead))
		switch r.Mistake {
		case "the epoch begins by the server's clock alone":
			at = now
		case "the epoch begins by the caller's clock alone":
			at = seen
		}
		r.newEpoch(s, at)
	}
	if another || now > h.latest+redisLatest {
		h.latest = now
	}
	signed := s.signed[u.Signature]
	until := signed + KeepFor + redisMargin - r.if32("records end with what they hold", redisMargin)
	if r.Mistake == "a claim is recorded before it is checked" && h.nonces[u.Nonce].until == never && !r.unused(h, u) {
		h.nonces[u.Nonce] = kept{until: until}
	}
	switch {
	case !r.inTime(h, signed, now):
		return "stale"
	case !r.free(h, u):
		return "replayed"
	}
	r.keep(h, u, now, until)
	return "ok"
}

// memory is signing.Memory, which forgets at the end of a tick of 2^34 ns.
func (r *Rule) memory(s *State, use int8) string {
	h, u, start := &s.at[0], r.use(use), s.opened[0]
	now := (int64(-start) * 1e6) >> 34
	for _, records := range [][]kept{h.nonces[:], h.signatures[:]} {
		for i, n := range records {
			if n.until != never && ((int64(n.until-start)*1e6-1)>>34)+1 <= now {
				records[i] = kept{until: never}
			}
		}
	}
	signed := s.signed[u.Signature]
	switch {
	case signed < start-r.if32("a new process accepts what was signed before it", 1<<20), signed+KeepFor <= 0:
		return "stale"
	case !r.free(h, u):
		return "replayed"
	}
	r.keep(h, u, 0, signed+KeepFor)
	return "ok"
}

// sqlite is claimSQLite.
func (r *Rule) sqlite(s *State, instance int8, f *flight) string {
	h, u, now, begun := &s.at[0], r.use(f.use), s.offset, &s.begun[instance]
	if r.Mistake == "a store takes over the epoch of its file" && h.begin != never {
		*begun = true
	}
	fits := func() string {
		switch {
		case !r.inTime(h, s.signed[u.Signature], now):
			return "stale"
		case !r.free(h, u):
			return "replayed"
		}
		return ""
	}
	if f.stage == look {
		f.tries++
		if !*begun {
			f.stage = begin // that it has not begun one, an instance knows without a look
		}
	}
	switch f.stage {
	case look:
		if f.stage = begin; h.begin != never && h.swept <= now {
			f.stage = write
			return fits()
		}
		return ""
	case begin:
		at := now
		if !*begun {
			at = s.opened[instance]
		}
		*begun = true
		if h.swept > now {
			at, h.swept = max(at, now), never
		}
		r.newEpoch(s, max(at, h.begin))
	case write:
		if r.Mistake == "what was looked up is not compared again" || h.swept <= now && fits() == "" {
			r.keep(h, u, now, s.signed[u.Signature]+KeepFor)
			return "ok"
		}
	}
	if f.tries >= 3 {
		return "stale"
	}
	f.stage = look
	return ""
}

// postgres is claimPostgres. Its first statement reads a snapshot, and then waits for others and writes.
func (r *Rule) postgres(s *State, f *flight) string {
	h, u, now := &s.at[0], r.use(f.use), s.offset
	signed := s.signed[u.Signature]
	switch f.stage {
	case look:
		f.tries++
		if f.at, f.stage = now, write; !h.known || h.swept > now || !r.inTime(h, signed, now) || !r.unused(h, u) {
			f.stage = ask
		}
	case write:
		switch {
		case h.nonces[u.Nonce].until != never:
			f.stage = ask
		case r.unused(h, u):
			r.keep(h, u, f.at, signed+KeepFor)
			return "ok"
		default:
			h.nonces[u.Nonce] = kept{until: signed + KeepFor, first: f.at}
			if f.stage = undo; r.Mistake == "a collision leaves its nonce" {
				return "replayed"
			}
		}
	case undo:
		if h.nonces[u.Nonce].first == f.at {
			h.nonces[u.Nonce] = kept{until: never}
		}
		return "replayed"
	case ask:
		switch {
		case !h.known || h.swept > now:
			f.stage = begin
		case !r.inTime(h, signed, now):
			return "stale"
		case !r.free(h, u) || r.Mistake == "an epoch that began meanwhile counts as a refusal":
			return "replayed"
		case f.tries == 3:
			return "stale"
		default:
			f.stage = look
		}
	case begin:
		if !h.known || h.swept > now {
			r.newEpoch(s, max(h.begin, now))
			h.swept = never
		}
		if f.stage = look; f.tries == 3 {
			return "stale"
		}
	}
	return ""
}

// probe claims an honest request by an instance with a right clock. It needs a second signature at most,
// or patience while the epoch begins in the future.
func (r *Rule) probe(s State) string {
	waits := []int32{0, 1}
	if r.Skewed {
		waits = append(waits, redisAhead)
	}
	if s.flight[0].stage != idle {
		return ""
	}
	for _, d := range waits {
		s.pass(d)
		result, wrong := r.Step(&s, Move{Claim, 0, int8(len(r.Uses))})
		for result == "" && wrong == "" {
			result, wrong = r.goOn(&s, 0)
		}
		if result == "ok" || wrong != "" {
			return wrong
		}
	}
	return "an honest request stays stale"
}

// The requests of the cases.
var (
	captured = []Use{{Nonce: 0, Siblings: 1}, {Nonce: 1, Siblings: 1}, {Nonce: 1, Signature: 1, Siblings: 1}}
	siblings = []Use{{Nonce: 0, Siblings: 2}, {Nonce: 1, Siblings: 2}, {Nonce: 2, Siblings: 2}}
	early    = []Use{{Nonce: 0, Siblings: 1, Ahead: true}, {Nonce: 1, Siblings: 2, Ahead: true}, {Nonce: 0, Signature: 1, Siblings: 1}}
)

// Cases are worlds to explore, without a mistake.
func Cases() (all []Rule) {
	for _, engine := range []string{"Memory", "SQLite", "PostgreSQL", "Redis"} {
		for _, uses := range [][]Use{captured, siblings, early} {
			all = append(all, Rule{Engine: engine, Uses: uses})
		}
	}
	return append(all, Rule{Engine: "Redis", Uses: captured, Skewed: true})
}

// Exceptions are worlds in which a promise does not hold, as THREATS says.
var Exceptions = []Rule{{Engine: "Redis", Uses: captured, Stepped: true}}

func (r *Rule) String() string {
	what := map[bool]string{true: "a clock an hour ahead", false: "a captured signature"}[r.Skewed]
	switch {
	case r.Mistake != "":
		what = r.Mistake
	case r.Stepped:
		what = "a clock that steps back"
	case r.Uses[0].Ahead:
		what = "signed ahead"
	case r.Uses[0].Siblings > 1:
		what = "siblings"
	}
	return r.Engine + ", " + what
}

// Mistakes are worlds with one mistake each, most of which a store once had.
var Mistakes = []Rule{
	{"Memory", "a new process accepts what was signed before it", captured, false, false},
	{"Redis", "a claim is recorded before it is checked", captured, false, false},
	{"SQLite", "what was looked up is not compared again", captured, false, false},
	{"SQLite", "retention counts from the arrival", early, false, false},
	{"SQLite", "what expires soon is deleted", captured, false, false},
	{"SQLite", "what was deleted is not said", captured, false, false},
	{"PostgreSQL", "what was deleted is not said", captured, false, false},
	{"Redis", "records end with what they hold", captured, false, false},
	{"Redis", "the nonce is kept, and the count of the signature is not", captured, false, false},
	{"PostgreSQL", "single use is not final", early, false, false},
	{"PostgreSQL", "a collision leaves its nonce", captured, false, false},
	{"PostgreSQL", "the epoch is that of the postmaster's start", captured, false, false},
	{"Redis", "the epoch begins when the one before did", captured, false, false},
	{"PostgreSQL", "an epoch that began meanwhile counts as a refusal", early, false, false},
	{"SQLite", "a store takes over the epoch of its file", captured, false, false},
	{"Redis", "the epoch's own millisecond is in it", captured, false, false},
	{"Redis", "the epoch is compared only by a server that does not know the script", captured, false, false},
	{"Redis", "a step back of the clock is not noticed", captured, false, false},
	{"Redis", "each claim begins an epoch", captured, false, false},
	{"Redis", "the epoch begins by the server's clock alone", captured, false, false},
	{"Redis", "the epoch begins by the caller's clock alone", captured, true, false},
}

// Runs reports whether a claim of an instance has not ended.
func (r *Rule) Runs(s State, instance int8) bool { return s.flight[instance].stage != idle }

package redisstore

import "strings"

// Guarantee tells which failures the confirmed changes of a Store survive. It follows
// from the settings that Open has read. It does not notice settings that change later.
//
// Replays survive all of these failures, because they begin a new epoch. Their comment
// names what remains.
type Guarantee struct {
	// Kill: they survive the end of the server's process. With appendfsync everysec this
	// is false: during a sync the server replies first and writes after the sync.
	Kill bool

	Power    bool // they survive the loss of power
	Failover bool // they survive the promotion of a replica: always false, because replication is asynchronous

	notes []string
}

const ended = "what was ended or spent last may be there again (a logout, a revocation, a use)"

// Guarantee returns the guarantee for the ledger, sessions and attempts.
func (s *Store) Guarantee() Guarantee {
	var g Guarantee
	switch sync := s.settings["appendfsync"]; {
	case s.settings["appendonly"] != "yes":
		g.note("process kill and power loss: all is gone, or as in the latest snapshot, with what was ended since")
	case sync == "always":
		g.Kill, g.Power = true, true
		g.note("process kill and power loss: nothing is lost that the disk has confirmed")
	case sync == "everysec":
		g.note("process kill: what was confirmed during a sync is lost, some milliseconds of a second, two seconds with a slow disk: " + ended)
		g.note("power loss: up to two seconds are lost: " + ended)
	default:
		g.Kill = true
		g.note("process kill: nothing is lost")
		g.note("power loss: up to half a minute is lost, or what the system keeps to itself: " + ended)
	}
	if s.settings["no-appendfsync-on-rewrite"] != "no" {
		g.Power = false
		g.note("power loss while the file is rewritten: up to half a minute is lost: " + ended)
	}
	g.note("failover: what had not reached the replica is lost: " + ended)
	g.note("replays: none is accepted after any of these, but for requests signed ahead of the server's clock")
	if s.settings["maxmemory-policy"] != "noeviction" {
		g.Kill, g.Power = false, false
		g.note("at any time: a server that is full drops records, and then replays are accepted")
	}
	return g
}

func (g *Guarantee) note(line string) { g.notes = append(g.notes, line) }

// String describes the guarantee for a human reader, in a few lines.
func (g Guarantee) String() string { return strings.Join(g.notes, "\n") }

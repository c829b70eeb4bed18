package redisstore

import "strings"

// Guarantee is what becomes of what a Store has confirmed, by the settings that
// Open has found. Settings changed afterwards are not noticed.
//
// Replays hold through all of it, but for what their comment says is left: they
// begin a new epoch.
type Guarantee struct {
	// Kill: it survives the end of the server's process. With appendfsync
	// everysec it does not quite: the server answers while a sync is under way,
	// and writes when that is over.
	Kill bool

	Power    bool // it survives the loss of power
	Failover bool // it survives the promotion of a replica: never, as replication is asynchronous

	notes []string
}

const ended = "what was ended or spent last may be there again (a logout, a revocation, a use)"

// Guarantee returns what holds of the ledger, sessions and attempts.
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
	g.note("failover: what had not reached the replica is lost: " + ended)
	g.note("replays: none is accepted after any of these, but for requests signed ahead of the server's clock")
	if s.settings["maxmemory-policy"] != "noeviction" {
		g.Kill, g.Power = false, false
		g.note("at any time: a server that is full drops records, and then replays are accepted")
	}
	return g
}

func (g *Guarantee) note(line string) { g.notes = append(g.notes, line) }

// String says it for a person to read, in a few lines.
func (g Guarantee) String() string { return strings.Join(g.notes, "\n") }

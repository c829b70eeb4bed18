package session

import "time"

// Code is code, for known answers.
func Code(secret FactorSecret, step int64) string { return code(secret, step) }

// Match is match.
func Match(secret FactorSecret, given string, now time.Time, after int64) (int64, bool) {
	return match(secret, given, now, after)
}

// NewRecovery is newRecovery.
func NewRecovery() ([]string, [][32]byte) { return newRecovery() }

// UseRecovery is useRecovery.
func UseRecovery(hashes [][32]byte, code string) ([][32]byte, bool) { return useRecovery(hashes, code) }

// NormalRecovery is normalRecovery.
func NormalRecovery(code string) string { return normalRecovery(code) }

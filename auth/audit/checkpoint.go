package audit

import (
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/tenantkit/tenantkit/auth"
)

// checkpointPrefix begins each line, so that nothing else that the key signs is one.
const checkpointPrefix = "tenantkit-audit-checkpoint-1"

// ErrCheckpoint means that a line is not one of Head.Sign, or was changed.
var ErrCheckpoint = errors.New("audit: the line is not a signed checkpoint")

// Sign returns h as a line of text with an Ed25519 signature: for a log, a file or another place that the
// database does not reach. It has the public key, and no line break.
func (h Head) Sign(key ed25519.PrivateKey) string {
	line := strings.Join([]string{checkpointPrefix, url.PathEscape(string(h.Org)), strconv.FormatInt(h.Count, 10), "h" + h.Hash,
		strconv.FormatInt(h.Time.UnixMilli(), 10), base64.RawURLEncoding.EncodeToString(key.Public().(ed25519.PublicKey))}, " ")
	return line + " " + base64.RawURLEncoding.EncodeToString(ed25519.Sign(key, []byte(line)))
}

// ReadCheckpoint returns the head of a line of Head.Sign, and the key that has signed it: compare this with
// the key that you know. The error is ErrCheckpoint.
func ReadCheckpoint(line string) (Head, ed25519.PublicKey, error) {
	line = strings.TrimSpace(line)
	end := max(strings.LastIndexByte(line, ' '), 0)
	fields := strings.Split(line[:end], " ")
	if len(fields) != 6 || fields[0] != checkpointPrefix || !strings.HasPrefix(fields[3], "h") {
		return Head{}, nil, ErrCheckpoint
	}
	org, orgErr := url.PathUnescape(fields[1])
	count, countErr := strconv.ParseInt(fields[2], 10, 64)
	at, timeErr := strconv.ParseInt(fields[4], 10, 64)
	key, keyErr := base64.RawURLEncoding.Strict().DecodeString(fields[5])
	signature, signErr := base64.RawURLEncoding.Strict().DecodeString(line[end+1:])
	err := errors.Join(orgErr, countErr, timeErr, keyErr, signErr)
	if err != nil || len(key) != ed25519.PublicKeySize || !ed25519.Verify(key, []byte(line[:end]), signature) {
		return Head{}, nil, ErrCheckpoint
	}
	return Head{auth.OrgKey(org), count, fields[3][1:], time.UnixMilli(at).UTC()}, key, nil
}

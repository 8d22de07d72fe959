package broker

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"strings"
)

// Names in NATS. A mailbox's subject is in.v1.<partition>.<token>: nothing that
// a stranger chose is part of any name.
const (
	streamInbound = "INBOUND"
	streamDead    = "DEAD"
	streamFacts   = "FACTS"
	streamLeases  = "KV_LEASES" // as tools that look at key-value buckets expect it
	streamWatch   = "WATCH"
	bucketFiles   = "FILES"
	streamFiles   = "OBJ_" + bucketFiles // as tools that look at object stores expect it

	consumerDispatch = "dispatch"

	subjectsInbound = "in.v1.>"
	mailboxes       = "in.v1.*.*"
	subjectFiller   = "in.v1._" // three tokens: no mailbox has it
	prefixInbound   = "in.v1."
	prefixDead      = "dead.v1."
	subjectsDead    = "dead.v1.*"
	prefixDeadEvent = "dead-event.v1." // of letters that give way
	deadEvents      = "dead-event.v1.*"
	subjectFacts    = "facts.v1"
	subjectWatch    = "watch.v1.probe"
	prefixLease     = "$KV.LEASES."
	prefixSignal    = "sig.v1."
	prefixFile      = "$O." + bucketFiles + "."
)

// isToken reports whether s is 32 lower case hex digits.
func isToken(s string) bool {
	if len(s) != 32 {
		return false
	}
	for i := range len(s) {
		if c := s[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}

// mailboxSubject returns the subject of a well-formed token.
func mailboxSubject(token string) string {
	return prefixInbound + token[:1] + "." + token
}

// tokenOf returns the token of a mailbox's subject; ok is false for every other
// subject, also for one whose partition is not its token's.
func tokenOf(subject string) (token string, ok bool) {
	rest, found := strings.CutPrefix(subject, prefixInbound)
	if !found || len(rest) != 1+1+32 || rest[1] != '.' || !isToken(rest[2:]) || rest[0] != rest[2] {
		return "", false
	}
	return rest[2:], true
}

// messageID returns what duplicates are recognised by. The server's window knows
// ids only, not subjects, so the token is part of it; and it is a hash, because
// an id may hold anything and this goes into a header.
func messageID(token, id string) string {
	h := sha256.New()
	var n [8]byte
	binary.BigEndian.PutUint64(n[:], uint64(len(token)))
	h.Write(n[:])
	h.Write([]byte(token))
	h.Write([]byte(id))
	return base64.RawURLEncoding.EncodeToString(h.Sum(nil)[:18])
}

// isTopic reports whether s is [a-z0-9_.-]+ without empty parts.
func isTopic(s string) bool {
	return isFileName(s) && s[0] != '.' && s[len(s)-1] != '.' && !strings.Contains(s, "..")
}

// isFileName reports whether s is [a-z0-9_.-]+.
func isFileName(s string) bool {
	if s == "" || len(s) > 200 {
		return false
	}
	for i := range len(s) {
		c := s[i]
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '_' && c != '.' && c != '-' {
			return false
		}
	}
	return true
}

package ops

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"

	"github.com/prometheus/client_golang/prometheus"

	"parley/sessionkeys"
)

// hasher names sessions in exemplars without telling which they are: by a
// keyed hash whose key nobody learns and which ends with the process. The turn
// beside it is what an operator looks up in the log.
type hasher struct{ key []byte }

func newHasher() hasher {
	key := make([]byte, sha256.Size)
	rand.Read(key) // it never fails
	return hasher{key}
}

func (h hasher) hashSession(id sessionkeys.SessionID) string {
	mac := hmac.New(sha256.New, h.key)
	mac.Write([]byte(id))
	return hex.EncodeToString(mac.Sum(nil)[:8])
}

// maxExemplar is how long a turn's id may be; the whole of an exemplar's
// labels may have 128 characters.
const maxExemplar = 64

// observe notes v with the turn that it comes from.
func (t *turns) observe(o prometheus.Observer, v float64, turn string, session sessionkeys.SessionID) {
	e, ok := o.(prometheus.ExemplarObserver)
	if !ok || turn == "" || len(turn) > maxExemplar {
		o.Observe(v)
		return
	}
	e.ObserveWithExemplar(v, prometheus.Labels{"turn": turn, "session": t.hash.hashSession(session)})
}

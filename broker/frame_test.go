package broker

import (
	"bytes"
	"testing"
)

func FuzzFramesComeBackAsTheyWere(f *testing.F) {
	f.Add("", "", []byte(nil))
	f.Add("agent:main", "a\r\nb", []byte(`{"a":1}`))
	f.Fuzz(func(t *testing.T, id, key string, body []byte) {
		e := Envelope{Token: token(1), ID: id, Key: key, Body: body}
		got, err := decodeEnvelope(mailboxSubject(e.Token), e.encode())
		if err != nil || got.ID != id || got.Key != key || got.Token != e.Token || !bytes.Equal(got.Body, body) {
			t.Errorf("%+v, %v", got, err)
		}
		if _, err := decodeEnvelope(mailboxSubject(token(2)), e.encode()); err == nil {
			t.Error("taken for another mailbox's")
		}
	})
}

func FuzzForeignBytesAreNoFrame(f *testing.F) {
	f.Add([]byte{1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1})
	f.Add([]byte{1, 3, 'a'})
	f.Add(envelope(1, 1).encode())
	f.Fuzz(func(t *testing.T, data []byte) {
		var a, b string
		body, err := decodeFrame(data, &a, &b)
		if err == nil && len(a)+len(b)+len(body) > len(data) {
			t.Error("longer than it was")
		}
		readBlock(data, "S", 1, 0)
	})
}

func TestOnlyAMailboxsSubjectHasAToken(t *testing.T) {
	t.Parallel()
	good := mailboxSubject(token(5))
	if tok, ok := tokenOf(good); !ok || tok != token(5) {
		t.Errorf("%s: %q %v", good, tok, ok)
	}
	for _, s := range []string{
		"", subjectFiller, "in.v1.1." + token(5), "in.v1.0" + token(5), good + "0", good[:len(good)-1],
		"in.v2" + good[5:], "in.v1.0.*", "in.v1.*." + token(5), "in.v1..." + token(5),
	} {
		if tok, ok := tokenOf(s); ok {
			t.Errorf("%q has token %q", s, tok)
		}
	}
	seen := map[string]bool{}
	for n := range partitions {
		seen[mailboxSubject(token(0)[:0] + "0123456789abcdef"[n:n+1] + token(0)[1:])[:8]] = true
	}
	if len(seen) != partitions {
		t.Errorf("%d partitions", len(seen))
	}
}

func TestIDsOfTwoMailboxesNeverMeet(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, p := range [][2]string{{"3", "131"}, {"31", "31"}, {"313", "1"}, {"", "3131"}, {"3131", ""}} {
		if id := messageID(p[0], p[1]); seen[id] {
			t.Errorf("%q has another's id", p)
		} else {
			seen[id] = true
		}
	}
}

func TestBackoffGrowsToItsLimit(t *testing.T) {
	t.Parallel()
	last := backoff(0)
	for n := range uint64(200) {
		d := backoff(n)
		if d < last || d < firstBackoff || d > longestBackoff {
			t.Fatalf("%d: %v", n, d)
		}
		last = d
	}
	if last != longestBackoff {
		t.Error(last)
	}
}

package broker

import (
	"encoding/binary"
	"errors"
)

// A stored message is a version byte, some strings, each after its length, and
// the body up to the end. It is binary so that ids and keys may hold anything
// and bodies keep every byte.
const frameVersion = 1

// maxMeta bounds id and key together.
const maxMeta = 64 << 10

// frameSpare is what a message may be larger than its body.
const frameSpare = maxMeta + 1<<10

var errFrame = errors.New("not a message that parley wrote")

func encodeFrame(body []byte, fields ...string) []byte {
	n := 1 + len(body)
	for _, f := range fields {
		n += binary.MaxVarintLen32 + len(f)
	}
	b := make([]byte, 0, n)
	b = append(b, frameVersion)
	for _, f := range fields {
		b = binary.AppendUvarint(b, uint64(len(f)))
		b = append(b, f...)
	}
	return append(b, body...)
}

// decodeFrame fills fields and returns the body, which shares data's memory.
func decodeFrame(data []byte, fields ...*string) (body []byte, err error) {
	if len(data) == 0 || data[0] != frameVersion {
		return nil, errFrame
	}
	data = data[1:]
	for _, f := range fields {
		n, w := binary.Uvarint(data)
		if w <= 0 || n > uint64(len(data)-w) {
			return nil, errFrame
		}
		*f = string(data[w : w+int(n)])
		data = data[w+int(n):]
	}
	return data, nil
}

func (e Envelope) encode() []byte { return encodeFrame(e.Body, e.Token, e.ID, e.Key) }

// decodeEnvelope reads what was stored under subject. The token inside must be
// the subject's: a write past Publish gets into no mailbox.
func decodeEnvelope(subject string, data []byte) (Envelope, error) {
	var e Envelope
	body, err := decodeFrame(data, &e.Token, &e.ID, &e.Key)
	if err != nil {
		return Envelope{}, err
	}
	if token, ok := tokenOf(subject); !ok || token != e.Token {
		return Envelope{}, errors.New("message names another mailbox than its subject does")
	}
	e.Body = body
	return e, nil
}

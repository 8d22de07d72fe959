package wire

import "io"

// body is a request's body that stands in several pieces of memory, of which the first one may
// be the beginning of other requests, too.
type body struct {
	pieces [][]byte
	at     int // of the first piece
}

// bodyOf returns a body of pieces, which nobody changes while it is read.
func bodyOf(pieces [][]byte) io.ReadCloser { return &body{pieces: pieces} }

func (b *body) Read(p []byte) (n int, err error) {
	for len(b.pieces) > 0 && n < len(p) {
		k := copy(p[n:], b.pieces[0][b.at:])
		n, b.at = n+k, b.at+k
		if b.at == len(b.pieces[0]) {
			b.pieces, b.at = b.pieces[1:], 0
		}
	}
	if n == 0 && len(b.pieces) == 0 {
		return 0, io.EOF
	}
	return n, nil
}

func (*body) Close() error { return nil }

func sizeOf(pieces [][]byte) (n int64) {
	for _, p := range pieces {
		n += int64(len(p))
	}
	return n
}

package redaction

import "io"

// Screen returns content as long as no secret that is known was in it: then reading fails
// with refusal. What looks like a key is let through, because it may be for whoever gets it.
func (r *Redactor) Screen(content io.Reader, refusal error) io.Reader {
	if r == nil {
		return content
	}
	return &screen{content: content, forms: r.forms.Load(), refusal: refusal}
}

// screen is content of which secrets are held back.
type screen struct {
	content io.Reader
	forms   *forms
	refusal error
	tail    string // of what was read, in which a secret may begin
}

// Read implements [io.Reader].
func (s *screen) Read(p []byte) (int, error) {
	n, err := s.content.Read(p)
	text := s.tail + string(p[:n])
	if s.forms.holds(text) {
		return 0, s.refusal
	}
	s.tail = text[max(0, len(text)-2*s.forms.longest):]
	return n, err // readers compare io.EOF with ==
}

// holds reports whether a secret is in s.
func (f *forms) holds(s string) bool {
	for i := 0; i+1 < len(s); i++ {
		k := pairKey(s[i], s[i+1])
		if !f.mayBegin(k) {
			continue
		}
		for _, form := range f.starts[f.at[k]].forms {
			if _, whole := matchForm(form, s[i:]); whole {
				return true
			}
		}
	}
	return false
}

package page

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"slices"
	"strings"
	"sync"
	"time"
)

// How long things hold, and how many there are at a time; of more, the oldest goes.
const (
	codeFor   = 5 * time.Minute
	loginFor  = 12 * time.Hour
	maxCodes  = 8
	maxLogins = 64
)

type digest = [sha256.Size]byte

// doors knows who may come in and who is in. Its methods may be called concurrently. All of it ends
// with the process.
type doors struct {
	now       func() time.Time
	passwords map[string]digest
	nobodys   digest // in the place of the password of a name that there is not

	mu       sync.Mutex // guards the rest
	codes    []code
	logins   []*login
	throttle throttle
}

type code struct {
	sum   digest
	by    string
	until time.Time
}

// login is an operator's stay.
type login struct {
	sum   digest // of the cookie
	by    string
	until time.Time

	mu      sync.Mutex
	notices []notice // what the next page shows, once
}

// notice is what became of an action.
type notice struct {
	Text string
	Bad  bool
}

func newDoors(passwords map[string]string, now func() time.Time) *doors {
	d := &doors{now: now, passwords: map[string]digest{}, nobodys: sha256.Sum256([]byte(rand.Text()))}
	for name, p := range passwords {
		d.passwords[name] = sha256.Sum256([]byte(p))
	}
	return d
}

// newCode returns a code of 80 random bits, as people copy it.
func (d *doors) newCode(by string) (text string, until time.Time) {
	text, until = rand.Text()[:16], d.now().Add(codeFor)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.codes = append(d.codes, code{sha256.Sum256([]byte(text)), by, until})
	d.codes = d.codes[max(0, len(d.codes)-maxCodes):]
	return strings.Join([]string{text[:4], text[4:8], text[8:12], text[12:]}, "-"), until
}

// outcome is how a try to log in ended.
type outcome int

const (
	wrong outcome = iota
	tooOften
	right
)

// try lets somebody in who comes from an address with a code, or with a name and password, and
// returns the cookie of their stay.
func (d *doors) try(from, codeText, name, password string) (cookie, by string, o outcome) {
	now := d.now()
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.throttle.take(from, now) {
		return "", "", tooOften
	}
	if codeText != "" {
		by = d.useCode(codeText, now)
	} else {
		by = d.checkPassword(name, password)
	}
	if by == "" {
		return "", "", wrong
	}
	d.throttle.giveBack(from)
	cookie = rand.Text() + rand.Text()
	d.logins = slices.DeleteFunc(d.logins, func(l *login) bool { return !now.Before(l.until) })
	d.logins = append(d.logins, &login{sum: sha256.Sum256([]byte(cookie)), by: by, until: now.Add(loginFor)})
	d.logins = d.logins[max(0, len(d.logins)-maxLogins):]
	return cookie, by, right
}

// useCode returns whose code that is, which is gone then; "": nobody's.
func (d *doors) useCode(typed string, now time.Time) (by string) {
	sum := sha256.Sum256([]byte(strings.Map(func(r rune) rune {
		if r == '-' || r == ' ' {
			return -1
		}
		return r
	}, strings.ToUpper(strings.TrimSpace(typed)))))
	d.codes = slices.DeleteFunc(d.codes, func(c code) bool {
		if !now.Before(c.until) {
			return true
		}
		if subtle.ConstantTimeCompare(c.sum[:], sum[:]) != 1 {
			return false
		}
		by = c.by
		return true
	})
	return by
}

// checkPassword returns name if that is its password. It takes as long for a name that there is not.
func (d *doors) checkPassword(name, password string) string {
	want, known := d.passwords[name]
	if !known {
		want = d.nobodys
	}
	sum := sha256.Sum256([]byte(password))
	if subtle.ConstantTimeCompare(want[:], sum[:]) != 1 || !known {
		return ""
	}
	return name
}

// find returns the stay of that cookie; nil: there is none, or it has ended.
func (d *doors) find(cookie string) *login {
	if cookie == "" {
		return nil
	}
	sum, now := sha256.Sum256([]byte(cookie)), d.now()
	d.mu.Lock()
	defer d.mu.Unlock()
	var found *login
	for _, l := range d.logins {
		if subtle.ConstantTimeCompare(l.sum[:], sum[:]) == 1 && now.Before(l.until) {
			found = l
		}
	}
	return found
}

// leave ends a stay.
func (d *doors) leave(l *login) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.logins = slices.DeleteFunc(d.logins, func(o *login) bool { return o == l })
}

// tell has the next page show what became of an action.
func (l *login) tell(n notice) {
	l.mu.Lock()
	defer l.mu.Unlock()
	const most = 8
	l.notices = append(l.notices, n)
	l.notices = l.notices[max(0, len(l.notices)-most):]
}

// takeNotices returns what is to be shown, once.
func (l *login) takeNotices() []notice {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := l.notices
	l.notices = nil
	return all
}

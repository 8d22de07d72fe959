package signal

import (
	"cmp"
	"encoding/base64"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"parley/simulators/internal/stage"
)

// Versions of signal-cli. They differ in what an envelope says about timers, in when
// the stream of events sends its headers, in whether the Host header is held to the
// address, and in what they can read: since 2026-06-10 the service sends envelopes
// without a serverGuid, and every release before 0.14.5 fails on what comes from a
// sealed sender, after it has told the service that it arrived
// (AsamK/signal-cli #2059, #2060, #2061, #2070; CHANGELOG 0.14.5).
const (
	Version013  = "0.13.19"
	Version0144 = "0.14.4.1"
	Version014  = "0.14.8"
)

// Account is a registered number that a daemon may hold.
type Account struct {
	// Number in E.164. An account without one is named by its ACI.
	Number string `json:"number,omitempty"`
	// ACI is the account's id, a UUID; empty: made up from its place.
	ACI  string `json:"aci"`
	Name string `json:"name,omitempty"`
	// Undiscoverable: who asks the service for the number finds nobody, not even the
	// account itself (AsamK/signal-cli #1826).
	Undiscoverable bool `json:"undiscoverable,omitempty"`
	// Unlinked: no daemon can hold it before it is linked, see [Server.Scan].
	Unlinked bool `json:"unlinked,omitempty"`
}

// ID returns the number, or the ACI of an account that has none.
func (a Account) ID() string { return cmp.Or(a.Number, a.ACI) }

// Options configure a [Server]. Only Accounts is required.
type Options struct {
	// Addr is where daemons and the control interface connect; empty: a free
	// port of 127.0.0.1.
	Addr string
	// Accounts are the numbers that daemons hold. Numbers and ACIs must differ.
	Accounts []Account
	// Version is what the daemons are, from 0.13 on; empty: Version014.
	Version string
	// ServerGUID: the service numbers its envelopes, as it did before 2026-06-10, so
	// that releases before 0.14.5 can read them all.
	ServerGUID bool
	// Seed drives every random choice. Equal seeds and equal calls give equal
	// runs.
	Seed uint64
	// Now returns the clock of timestamps; nil: time.Now. Slow answers wait on the
	// real clock.
	Now func() time.Time
	// KeepAlive is the pause between the comments in a stream of events; zero:
	// 15 seconds, as signal-cli has it.
	KeepAlive time.Duration
	// NoReceipts silences people's programs, which otherwise confirm every
	// message that reaches them with a delivery receipt.
	NoReceipts bool
	// Keep bounds each list of the books; the oldest entries go first and are
	// counted in Totals.Forgotten. Zero: 100 000. Negative: no entries.
	Keep int
	// History bounds the messages remembered per conversation; zero: 10 000.
	History int
}

var (
	errNoAccounts  = errors.New("at least one account is required")
	errTwoAccounts = errors.New("two accounts share a number or an ACI")
	errNumber      = errors.New("a number is + and 7 to 15 digits")
	errACI         = errors.New("an ACI is a UUID in lower case")
	errGroupID     = errors.New("a group's id is 32 bytes in base64")
	errVersion     = errors.New("version is 0.13 or 0.14 with one or two more numbers")

	numberShape  = regexp.MustCompile(`^\+[0-9]{7,15}$`)
	versionShape = regexp.MustCompile(`^0\.1[34](\.[0-9]{1,3}){1,2}$`)
	aciShape     = regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$`)
)

// MadeUpACI returns the n-th of the ACIs that nobody has.
func MadeUpACI(n int) string { return fmt.Sprintf("00000000-0000-4000-8000-%012d", n) }

// MadeUpGroup returns the n-th of the group ids that nobody has.
func MadeUpGroup(n int) string {
	return base64.StdEncoding.EncodeToString(fmt.Appendf(nil, "group %026d", n))
}

func (o *Options) complete() error {
	stage.Default(&o.Addr, &o.Now, &o.Keep, &o.History)
	o.Version = cmp.Or(o.Version, Version014)
	if !versionShape.MatchString(o.Version) {
		return fmt.Errorf("%w: %q", errVersion, o.Version)
	}
	o.KeepAlive = cmp.Or(o.KeepAlive, 15*time.Second)
	if len(o.Accounts) == 0 {
		return errNoAccounts
	}
	seen := map[string]bool{}
	accounts := make([]Account, 0, len(o.Accounts))
	for i, a := range o.Accounts {
		a.ACI = cmp.Or(a.ACI, fmt.Sprintf("b0700000-0000-4000-8000-%012d", i+1))
		if err := checkIDs(a.ACI, a.Number); err != nil {
			return fmt.Errorf("account %d: %w", i, err)
		}
		for _, k := range []string{a.ACI, a.Number} {
			if k != "" && seen[k] {
				return fmt.Errorf("account %d: %w", i, errTwoAccounts)
			}
			seen[k] = true
		}
		accounts = append(accounts, a)
	}
	o.Accounts = accounts
	return nil
}

// checkIDs holds the ids of a person or an account to their shapes.
func checkIDs(aci, number string) error {
	if !aciShape.MatchString(aci) {
		return fmt.Errorf("%w: %q", errACI, aci)
	}
	if number != "" && !numberShape.MatchString(number) {
		return fmt.Errorf("%w: %q", errNumber, number)
	}
	return nil
}

func checkGroup(id string) error {
	if raw, err := base64.StdEncoding.DecodeString(id); err != nil || len(raw) != 32 {
		return fmt.Errorf("%w: %q", errGroupID, id)
	}
	return nil
}

// isAtLeast014 reports whether the daemons speak 0.14.
func (o *Options) isAtLeast014() bool { return !isOlder(o.Version, 0, 14) }

// isOlder reports whether a version comes before another one. Numbers that it does not
// have are 0.
func isOlder(version string, than ...int) bool {
	at := make([]int, len(than))
	for i, n := range strings.Split(version, ".") {
		if i < len(at) {
			at[i], _ = strconv.Atoi(n)
		}
	}
	return slices.Compare(at, than) < 0
}

package signal

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

// sortedPeople are the people in order of their ACI. The caller holds the lock.
func (s *chats) sortedPeople() []*person {
	return slices.SortedFunc(maps.Values(s.known), func(a, b *person) int { return cmp.Compare(a.ACI, b.ACI) })
}

type wireIdentity struct {
	Number         *string `json:"number"`
	UUID           *string `json:"uuid"`
	Fingerprint    string  `json:"fingerprint"`
	SafetyNumber   string  `json:"safetyNumber"`
	TrustLevel     string  `json:"trustLevel"`
	AddedTimestamp int64   `json:"addedTimestamp"`
}

func (c *call) listIdentities() any {
	only := c.lookup(c.args.text("number"))
	rows := []wireIdentity{}
	if me := c.account; only == "" || only == me.ACI { // an account trusts itself (SignalAccount.trustSelfIdentity)
		rows = append(rows, wireIdentity{Number: orNull(me.Number), UUID: &me.ACI, Fingerprint: "05" + strings.Repeat("cd", 32), SafetyNumber: strings.Repeat("0", 60), TrustLevel: "TRUSTED_VERIFIED"})
	}
	for _, p := range c.sortedPeople() {
		key, seen := c.account.trusts[p.ACI]
		if !seen || only != "" && only != p.ACI {
			continue
		}
		level := "TRUSTED_UNVERIFIED"
		if key != p.key {
			level = "UNTRUSTED"
		}
		a := p.address()
		rows = append(rows, wireIdentity{Number: orNull(a.Number), UUID: orNull(a.ACI), Fingerprint: "05" + strings.Repeat("ab", 32), SafetyNumber: p.safetyNumber(), TrustLevel: level})
	}
	return rows
}

func (c *call) listAccounts() any {
	if !c.process.multi {
		panic(&rpcError{Code: codeNoMethod, Message: textNoMethod})
	}
	rows := []any{}
	for _, a := range c.process.accounts {
		row := map[string]any{"number": orNull(a.Number)}
		if c.opts.isAtLeast014() {
			row["aci"] = a.ACI
		}
		rows = append(rows, row)
	}
	return rows
}

type wireStatus struct {
	Recipient    string  `json:"recipient"`
	Number       *string `json:"number,omitempty"`
	UUID         *string `json:"uuid"`
	IsRegistered bool    `json:"isRegistered"`
}

func (c *call) getUserStatus() any {
	rows := []wireStatus{}
	for _, id := range c.args.list("recipient") {
		if !numberShape.MatchString(id) {
			panic(userError("Invalid phone number '" + id + "'"))
		}
		row := wireStatus{Recipient: id, Number: &id}
		aci := c.lookup(id)
		if p := c.known[aci]; !c.isHidden(aci) && (p != nil && !p.gone || c.accountByACI(aci) != nil) {
			row.UUID, row.IsRegistered = &aci, true
		}
		rows = append(rows, row)
	}
	return rows
}

// isHidden tells whether somebody is not to be found by their number (AsamK/signal-cli
// #1826). The caller holds the lock.
func (s *chats) isHidden(aci string) bool {
	if a := s.accountByACI(aci); a != nil {
		return a.Undiscoverable
	}
	p := s.known[aci]
	return p != nil && p.Undiscoverable
}

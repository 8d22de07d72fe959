package signal

import (
	"cmp"
	"slices"
	"strings"
)

func compare(a, b string) int { return cmp.Compare(a, b) }

// sortedPeople are the people in order of their ACI. The caller holds the lock.
func (s *Server) sortedPeople() []*person {
	out := make([]*person, 0, len(s.people))
	for _, p := range s.people {
		out = append(out, p)
	}
	slices.SortFunc(out, func(a, b *person) int { return cmp.Compare(a.ACI, b.ACI) })
	return out
}

type wireIdentity struct {
	Number         *string `json:"number"`
	UUID           *string `json:"uuid"`
	Fingerprint    string  `json:"fingerprint"`
	SafetyNumber   string  `json:"safetyNumber"`
	TrustLevel     string  `json:"trustLevel"`
	AddedTimestamp int64   `json:"addedTimestamp"`
}

func listIdentities(s *Server, c *call) (any, *rpcError) {
	s.mu.Lock()
	defer s.mu.Unlock()
	only := s.lookup(c.args.text("number"))
	rows := []wireIdentity{}
	if me := c.account; only == "" || only == me.ACI { // an account trusts itself (SignalAccount.trustSelfIdentity)
		rows = append(rows, wireIdentity{Number: orNull(me.Number), UUID: &me.ACI, Fingerprint: "05" + strings.Repeat("cd", 32), SafetyNumber: strings.Repeat("0", 60), TrustLevel: "TRUSTED_VERIFIED"})
	}
	for _, p := range s.sortedPeople() {
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
	return rows, nil
}

func listAccounts(s *Server, c *call) (any, *rpcError) {
	if !c.process.multi {
		return nil, &rpcError{Code: codeNoMethod, Message: textNoMethod}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	rows := []any{}
	for _, a := range c.process.accounts {
		row := map[string]any{"number": orNull(a.Number)}
		if s.opts.isAtLeast014() {
			row["aci"] = a.ACI
		}
		rows = append(rows, row)
	}
	return rows, nil
}

type wireStatus struct {
	Recipient    string  `json:"recipient"`
	Number       *string `json:"number,omitempty"`
	UUID         *string `json:"uuid"`
	IsRegistered bool    `json:"isRegistered"`
}

func getUserStatus(s *Server, c *call) (any, *rpcError) {
	s.mu.Lock()
	defer s.mu.Unlock()
	rows := []wireStatus{}
	for _, id := range c.args.list("recipient") {
		if !numberShape.MatchString(id) {
			return nil, userError("Invalid phone number '" + id + "'")
		}
		row := wireStatus{Recipient: id, Number: &id}
		if !s.isHidden(id) {
			row = s.status(row, id)
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// isHidden tells whether whoever has a number is not to be found by it (AsamK/signal-cli
// #1826). The caller holds the lock.
func (s *Server) isHidden(number string) bool {
	aci := s.lookup(number)
	if a := s.accountByACI(aci); a != nil {
		return a.Undiscoverable
	}
	p := s.people[aci]
	return p != nil && p.Undiscoverable
}

func (s *Server) status(row wireStatus, id string) wireStatus {
	aci := s.lookup(id)
	if p := s.people[aci]; p != nil && !p.gone || s.isAccount(aci) {
		row.UUID, row.IsRegistered = &aci, true
	}
	return row
}

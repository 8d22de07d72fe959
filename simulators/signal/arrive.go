package signal

// propagate is what an account's message sets off: it reaches other accounts, and
// people's programs confirm it. The caller holds the lock.
func (c *call) propagate(t target, out outgoing, results []wireResult) {
	me, at := c.account.person(), out.version.Timestamp
	if t.self {
		return
	}
	for i, r := range results {
		if r.Type != resultSuccess {
			continue
		}
		if other := c.accountByACI(t.to[i].ACI); other != nil {
			pl := place{chat: t.place.chat, group: t.place.group, audience: []*account{other}}
			if pl.group == nil {
				// It is the other's conversation with this account.
				pl.chat = c.direct(other, c.account.ACI)
				pl.chat.add(msgKey{me.ACI, at}, &storedMessage{text: out.version.Text})
			}
			kind := "message"
			if out.edit != 0 {
				kind = "edit"
			}
			c.tell(pl, me, at, nil, EnvelopeEntry{Kind: kind, Text: out.version.Text, Target: out.edit}, c.asData(pl, out))
			continue
		}
		if who := c.known[t.to[i].ACI]; who != nil && !c.opts.NoReceipts {
			c.receipt(c.account, who.Person, "delivery", []int64{at})
		}
	}
}

// asData is an account's message as another account gets it.
func (s *chats) asData(pl place, out outgoing) func(*wireEnvelope) {
	d := s.data(pl, out.version.Timestamp)
	text := out.version.Text
	if text != "" {
		d.Message = &text
	}
	d.TextStyles = out.version.Styles
	for _, m := range out.version.Mentions {
		a := s.addressOf(m.ACI)
		d.Mentions = append(d.Mentions, wireMention{Name: a.legacy(), Number: orNull(a.Number), UUID: orNull(a.ACI), Start: m.Start, Length: m.Length})
	}
	if out.quote != nil {
		d.Quote = s.quote(pl.chat, *out.quote)
	}
	return func(e *wireEnvelope) {
		if out.edit != 0 {
			e.EditMessage = &wireEdit{TargetSentTimestamp: out.edit, DataMessage: d}
			return
		}
		e.DataMessage = d
	}
}

// receipt is a confirmation by a person.
func (s *chats) receipt(a *account, p Person, kind string, of []int64) Ref {
	at := s.stamp()
	e := s.envelope(p, at)
	e.ReceiptMessage = &wireReceipt{When: at, IsDelivery: kind == "delivery", IsRead: kind == "read", IsViewed: kind == "viewed", Timestamps: of}
	return s.put(a, wireEntry{Envelope: e, Account: a.ID()}, nil, EnvelopeEntry{Kind: "receipt", Text: kind, Source: p.ACI, Timestamp: at, Target: of[0]})
}

// accountByACI is the account with that ACI, or nil.
func (s *queues) accountByACI(aci string) *account {
	if aci == "" {
		return nil
	}
	return s.account(aci)
}

package signal

// method is one that JSON-RPC offers.
type method struct {
	run   func(s *Server, c *call) (any, *rpcError)
	whole bool // needs no account
}

// methods is what an account can do. Those that are about the connection or the
// folder, subscribeReceive and getAttachment, are the daemon's.
func methods() map[string]method {
	return map[string]method{
		"send":                     {run: send},
		"sendReaction":             {run: sendReaction},
		"sendTyping":               {run: sendTyping},
		"sendReceipt":              {run: sendReceipt},
		"remoteDelete":             {run: remoteDelete},
		"updateGroup":              {run: updateGroup},
		"listGroups":               {run: listGroups},
		"listIdentities":           {run: listIdentities},
		"getUserStatus":            {run: getUserStatus},
		"trust":                    {run: trust},
		"submitRateLimitChallenge": {run: submitChallenge},
		"listAccounts":             {run: listAccounts, whole: true},
		"startLink":                {run: startLink, whole: true},
		"finishLink":               {run: finishLink, whole: true},
		"version":                  {run: version, whole: true},
	}
}

// version is what the process is that is asked, whatever was installed since.
func version(_ *Server, c *call) (any, *rpcError) {
	return map[string]string{"version": c.process.version}, nil
}

// submitChallenge ends a rate limit. The captcha "wrong" is rejected.
func submitChallenge(s *Server, c *call) (any, *rpcError) {
	token, captcha := c.args.text("challenge"), c.args.text("captcha")
	if token == "" || captcha == "" {
		return nil, userError("Challenge and captcha are required")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if captcha == "wrong" || c.account.limited == nil || c.account.limited.token != token {
		return nil, &rpcError{Code: codeNoCaptcha, Message: "Captcha rejected, it may be outdated, already used or solved from a different IP address."}
	}
	c.account.limited = nil
	s.books.Notify()
	return nil, nil //nolint:nilnil // an empty result
}

// trust takes the key that somebody has now.
func trust(s *Server, c *call) (any, *rpcError) {
	s.mu.Lock()
	defer s.mu.Unlock()
	a, refused := s.recipient(c.args.text("recipient"))
	if refused != nil {
		return nil, refused
	}
	if !c.args.flag("trustAllKnownKeys") && c.args.text("verifiedSafetyNumber") == "" {
		return nil, userError("You need to specify the fingerprint/safety number you have verified with -v SAFETY_NUMBER")
	}
	who := s.people[a.ACI]
	if who == nil {
		return nil, userError("Failed to set the trust for this number, make sure the number is correct.")
	}
	if v := c.args.text("verifiedSafetyNumber"); v != "" && v != who.safetyNumber() {
		return nil, userError("Failed to set the trust for the safety number of this phone number, make sure the phone number and the safety number are correct.")
	}
	c.account.trusts[a.ACI] = who.key
	return nil, nil //nolint:nilnil // an empty result
}

package signal

// method is one that JSON-RPC offers.
type method struct {
	run   func(*call) any
	whole bool // needs no account
	locks bool // takes the lock by itself, because it reads files or waits
}

// methods returns what an account can do. Those that are about the connection or the
// folder, subscribeReceive and getAttachment, are the daemon's.
var methods = map[string]method{
	"send":                     {run: (*call).send, locks: true},
	"sendReaction":             {run: (*call).sendReaction},
	"sendTyping":               {run: (*call).sendTyping},
	"sendReceipt":              {run: (*call).sendReceipt},
	"remoteDelete":             {run: (*call).remoteDelete},
	"updateGroup":              {run: (*call).updateGroup},
	"listGroups":               {run: (*call).listGroups},
	"listIdentities":           {run: (*call).listIdentities},
	"getUserStatus":            {run: (*call).getUserStatus},
	"trust":                    {run: (*call).trust},
	"submitRateLimitChallenge": {run: (*call).submitChallenge},
	"listAccounts":             {run: (*call).listAccounts, whole: true},
	"startLink":                {run: (*call).startLink, whole: true, locks: true},
	"finishLink":               {run: (*call).finishLink, whole: true, locks: true},
	"version":                  {run: (*call).version, whole: true},
}

// version is what the process is that is asked, whatever was installed since.
func (c *call) version() any {
	return map[string]string{"version": c.process.version}
}

// submitChallenge ends a rate limit. The captcha "wrong" is rejected.
func (c *call) submitChallenge() any {
	token, captcha := c.args.text("challenge"), c.args.text("captcha")
	if token == "" || captcha == "" {
		panic(userError("Challenge and captcha are required"))
	}
	if captcha == "wrong" || c.account.limited == nil || c.account.limited.token != token {
		panic(&rpcError{Code: codeNoCaptcha, Message: "Captcha rejected, it may be outdated, already used or solved from a different IP address."})
	}
	c.account.limited = nil
	c.books.Notify()
	return nil
}

// trust takes the key that somebody has now.
func (c *call) trust() any {
	a := c.recipient(c.args.text("recipient"))
	if !c.args.flag("trustAllKnownKeys") && c.args.text("verifiedSafetyNumber") == "" {
		panic(userError("You need to specify the fingerprint/safety number you have verified with -v SAFETY_NUMBER"))
	}
	who := c.known[a.ACI]
	if who == nil {
		panic(userError("Failed to set the trust for this number, make sure the number is correct."))
	}
	if v := c.args.text("verifiedSafetyNumber"); v != "" && v != who.safetyNumber() {
		panic(userError("Failed to set the trust for the safety number of this phone number, make sure the phone number and the safety number are correct."))
	}
	c.account.trusts[a.ACI] = who.key
	return nil
}

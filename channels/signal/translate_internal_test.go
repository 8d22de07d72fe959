package signal

import (
	"testing"
	"time"

	"parley/channels"
)

// newTranslator returns a receiver that can translate events of an account.
func newTranslator(own string) *receiver {
	o := Options{Common: channels.Common{Name: "sig"}.Defaults(time.Minute), Account: "+491"}
	return &receiver{Channel: &Channel{client: newClient(o), people: newPeople()}, me: configuredSelf(o.Account, own)}
}

// G28. Whatever has a key syncMessage, were it empty, is what another device of the
// account did, and not said to it; whoever the rest of the envelope names.
func TestASyncIsNobodysMessage(t *testing.T) {
	t.Parallel()
	const own, ann = "00000000-0000-4000-8000-000000000001", "00000000-0000-4000-8000-000000000002"
	r := newTranslator(own)
	said := `"source":"` + ann + `","sourceUuid":"` + ann + `","sourceDevice":1,"timestamp":5,"dataMessage":{"timestamp":5,"message":"hi"}`
	for fields, offered := range map[string]bool{
		said: true, said + `,"syncMessage":{}`: false, said + `,"syncMessage":{"readMessages":[]}`: false,
		said + `,"syncMessage":null`: false, // the key is there
	} {
		e := r.translate([]byte(`{"envelope":{`+fields+`},"account":"+491"}`), nil)
		if (e.skipReason == "") != offered || offered && e.message.Kind != channels.Said {
			t.Errorf("%s: offered as %+v, or not: %q", fields, e.message, e.skipReason)
		}
	}
}

// G28. What is no message is passed over for what it is.
func TestWhatIsNoMessageSaysWhatItIs(t *testing.T) {
	t.Parallel()
	const own, ann = "00000000-0000-4000-8000-000000000001", "00000000-0000-4000-8000-000000000002"
	r := newTranslator(own)
	for fields, want := range map[string]string{
		`"receiptMessage":{"when":5,"isRead":true}`: "a receipt", `"typingMessage":{"action":"STARTED"}`: "a sign of typing",
		`"storyMessage":{}`: "a story", `"callMessage":{}`: "a call", `"pollVote":{}`: "an event without a message",
	} {
		e := r.translate([]byte(`{"envelope":{"sourceUuid":"`+ann+`","sourceDevice":1,"timestamp":5,`+fields+`}}`), nil)
		if e.skipReason != want {
			t.Errorf("%s is passed over as %q", fields, e.skipReason)
		}
	}
}

// G30. Whether signal-cli says for whom a call failed, or only its code.
func TestACodeWithoutResultsIsJudged(t *testing.T) {
	t.Parallel()
	c := newClient(Options{Common: channels.Common{}.Defaults(time.Minute), Account: "+491", Challenge: time.Minute, Flood: time.Minute})
	for code, want := range map[int]channels.ErrorKind{
		codeUntrusted: channels.Refused, codeRateLimit: channels.RateLimit, codeCaptcha: channels.RateLimit, codeIO: channels.Ambiguous,
		codeUser: channels.Refused, codeParams: channels.Refused, codeNoMethod: channels.Refused, codeInternal: channels.Ambiguous, -32700: channels.Ambiguous,
	} {
		if e := c.channelError("send", &rpcError{Code: code, Message: "no"}); e.Kind != want {
			t.Errorf("%d is %s, want %s", code, e.Kind, want)
		}
	}
}

// firstday A1: what Signal's clients record is told from other sound by its type.
func TestVoiceNotesAreTold(t *testing.T) {
	t.Parallel()
	for mime, kind := range map[string]string{
		"audio/aac": channels.Voice, "audio/mp4": channels.Voice, "audio/mp3": channels.Voice, "audio/flac": "audio", "audio/mpeg": "audio", "video/mp4": "video", "text/plain": "document",
	} {
		if got, ok := toAttachment(attachment{ContentType: mime, ID: "x"}); !ok || got.Kind != kind {
			t.Errorf("%s is a %s", mime, got.Kind)
		}
	}
}

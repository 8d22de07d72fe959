package transcript_test

import (
	"testing"

	"parley/transcript"
)

// The texts stand in databases and recordings: they never change.
func TestMessageIDString(t *testing.T) {
	t.Parallel()
	const turn = "t-00112233445566778899aabbccddeeff"
	for text, id := range map[string]transcript.MessageID{
		turn + "-user":                      {Turn: turn, Kind: transcript.Opening},
		turn + "-user-17":                   {Turn: turn, Kind: transcript.Joining, Seq: 17},
		turn + "-user-18446744073709551615": {Turn: turn, Kind: transcript.Joining, Seq: 1<<64 - 1},
		turn + "#1":                         {Turn: turn, Kind: transcript.Answer, Step: 1},
		turn + "#12.0":                      {Turn: turn, Kind: transcript.Result, Step: 12},
		turn + "#2.31":                      {Turn: turn, Kind: transcript.Result, Step: 2, Index: 31},
		turn + "#voice.1":                   {Turn: turn, Kind: transcript.Voice, Index: 1},
		turn + "#voice.3.no_price":          {Turn: turn, Kind: transcript.Voice, Index: 3, Reason: "no_price"},
		turn + "#end":                       {Turn: turn, Kind: transcript.Closing},
		"a-user-user":                       {Turn: "a-user", Kind: transcript.Opening},
		"a-user-5-user":                     {Turn: "a-user-5", Kind: transcript.Opening},
		"a-user-user-5":                     {Turn: "a-user", Kind: transcript.Joining, Seq: 5},
		"a#1-user":                          {Turn: "a#1", Kind: transcript.Opening},
		"a#1-user-2":                        {Turn: "a#1", Kind: transcript.Joining, Seq: 2},
		"a-user#3":                          {Turn: "a-user", Kind: transcript.Answer, Step: 3},
		"a#end#end":                         {Turn: "a#end", Kind: transcript.Closing},
	} {
		if got := id.String(); got != text {
			t.Errorf("%+v is %s, not %s", id, got, text)
		}
		if got, ok := transcript.ParseMessageID(text); !ok || got != id {
			t.Errorf("%s is read as %+v, %v", text, got, ok)
		}
	}
}

func TestParseMessageID(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"", "said", "-user", "#1", "#end", "a-user-", "a-user-0", "a-user-07", "a-user-+7", "a-user--7", "a-user-18446744073709551616", "a-user-x",
		"a#", "a#01", "a#-1", "a#+1", "a#1.", "a#1.-1", "a#1.02", "a#1.2.3", "a#1 ", "a#voice.", "a#voice.0", "a#voice.01", "a#voice.1.",
		"a#voice.1.TOO", "a#voice.1.a.b", "a#voice.x", "a#ends", "a#1x",
	} {
		if id, ok := transcript.ParseMessageID(text); ok {
			t.Errorf("%q is read as %+v", text, id)
		}
	}
}

func FuzzMessageID(f *testing.F) {
	for _, seed := range []string{"t-1-user", "t-1-user-2", "t#1", "t#1.2", "t#voice.1.gone", "t#end", "a#1-user", "a-user#3"} {
		f.Add(seed, uint64(3), 2, 1, "too_long")
	}
	f.Fuzz(func(t *testing.T, text string, seq uint64, step, index int, reason string) {
		if id, ok := transcript.ParseMessageID(text); ok && id.String() != text {
			t.Errorf("%q is read as %+v, which is %q", text, id, id)
		}
		if text == "" || seq == 0 || step < 1 || index < 1 {
			return
		}
		ids := []transcript.MessageID{
			{Turn: text, Kind: transcript.Opening},
			{Turn: text, Kind: transcript.Joining, Seq: seq},
			{Turn: text, Kind: transcript.Answer, Step: step},
			{Turn: text, Kind: transcript.Result, Step: step, Index: index - 1},
			{Turn: text, Kind: transcript.Voice, Index: index},
			{Turn: text, Kind: transcript.Closing},
		}
		if _, ok := transcript.ParseMessageID("t#voice.1." + reason); ok {
			ids = append(ids, transcript.MessageID{Turn: text, Kind: transcript.Voice, Index: index, Reason: reason})
		}
		for _, id := range ids {
			if got, ok := transcript.ParseMessageID(id.String()); !ok || got != id {
				t.Errorf("%+v is %q, which is read as %+v, %v", id, id, got, ok)
			}
		}
	})
}

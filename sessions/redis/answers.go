package redis

import (
	"encoding/base64"
	"encoding/json"
	"maps"
	"regexp"
	"strconv"

	"parley/sessionkeys"
	"parley/sessions"
	"parley/sessions/rules"
)

// encodeAnswer is an answer as far as it is known: of one that was read only its
// state.
func encodeAnswer(a rules.Answer) (row, error) {
	f := row{"id": a.ID, "done": flag(a.Done), "parts": strconv.Itoa(len(a.Parts))}
	for i, p := range a.Parts {
		maps.Copy(f, encodePart(strconv.Itoa(i+1), p))
	}
	if a.Order > 0 {
		return f, nil
	}
	to, err := text(a.To)
	if err != nil {
		return nil, err
	}
	f["channel"], f["session"], f["turn"], f["target"] = a.Channel, string(a.Session), a.Turn, to
	f["reply_to"], f["text"], f["at"] = a.ReplyTo, a.Text, strconv.FormatInt(micros(a.At), 10)
	if a.Again {
		f["again"] = "1"
	}
	if a.File != nil {
		f["file"], err = text(a.File)
	}
	return f, err
}

func encodePart(n string, p sessions.Part) row {
	f := row{
		"s" + n: string(p.State), "a" + n: strconv.Itoa(p.Attempts), "m" + n: p.MessageID, "r" + n: strconv.Itoa(p.Repeats),
		"f" + n: string(p.Reason), "p" + n: p.Problem, "t" + n: timeText(p.At), "w" + n: p.By,
	}
	if p.Body != nil {
		f["b"+n] = base64.StdEncoding.EncodeToString(p.Body)
	}
	return f
}

// decodeAnswer is one as far as the rules see it, and with what else is there.
func decodeAnswer(r *reader) (a rules.Answer, err error) {
	a = rules.Answer{
		Outgoing: sessions.Outgoing{
			ID: r.row["id"], Channel: r.row["channel"], Session: sessionkeys.SessionID(r.row["session"]), Turn: r.row["turn"],
			ReplyTo: r.row["reply_to"], Text: r.row["text"], At: r.time("at"), Again: r.row["again"] != "",
		},
		Order: uint64(r.int("no")), Done: r.row["done"] == "1",
	}
	if to := r.row["target"]; to != "" {
		err = json.Unmarshal([]byte(to), &a.To)
	}
	if file := r.row["file"]; err == nil && file != "" {
		err = json.Unmarshal([]byte(file), &a.File)
	}
	for i := range int(r.int("parts")) {
		n := strconv.Itoa(i + 1)
		p := decodePart(r, n)
		if body, some := r.row["b"+n]; some && a.Order == 0 {
			p.Body, err = base64.StdEncoding.DecodeString(body)
		}
		a.Parts = append(a.Parts, p)
	}
	return a, err
}

// decodePart is part n of an answer, counted from 1, without its body.
func decodePart(r *reader, n string) sessions.Part {
	p := sessions.Part{
		State: sessions.SendState(r.row["s"+n]), Attempts: int(r.int("a" + n)), MessageID: r.row["m"+n], Repeats: int(r.int("r" + n)),
		Reason: sessions.FailReason(r.row["f"+n]), Problem: r.row["p"+n], At: r.time("t" + n), By: r.row["w"+n],
	}
	earlierPart(&p)
	return p
}

// Problems as the version before wrote them: with how often a part was sent again, and
// with why it failed.
var (
	earlierRepeat = regexp.MustCompile(`^repeat (\d{1,9}): the one before may have arrived$`)
	earlierVain   = regexp.MustCompile(`^sent (\d{1,9}) times, and not once is it known to have arrived: `)
	earlierReason = map[sessions.FailReason]*regexp.Regexp{
		sessions.NoFiles:     regexp.MustCompile(`^files cannot be sent from here to this chat: `),
		sessions.FileGone:    regexp.MustCompile(`^it is not kept any more: `),
		sessions.FileChanged: regexp.MustCompile(`^it is not kept as it was: `),
		sessions.TooLarge:    regexp.MustCompile(`^it has \d+ bytes, and the network takes \d+: `),
		sessions.Refused:     regexp.MustCompile(`^the network refuses it: `),
	}
)

// earlierPart completes a part that the version before wrote, also where this one had
// written it before that.
func earlierPart(p *sessions.Part) {
	if m := earlierRepeat.FindStringSubmatch(p.Problem); m != nil {
		p.Repeats, _ = strconv.Atoi(m[1]) // it has digits, and few
		p.Problem = ""
		return
	}
	if p.Reason != "" {
		return
	}
	if m := earlierVain.FindStringSubmatch(p.Problem); m != nil {
		n, _ := strconv.Atoi(m[1])
		p.Repeats, p.Reason = n-1, sessions.Unconfirmed
		return
	}
	for reason, begins := range earlierReason {
		if begins.MatchString(p.Problem) {
			p.Reason = reason
		}
	}
}

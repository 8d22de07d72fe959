package redis

import (
	"encoding/base64"
	"errors"
	"regexp"
	"strconv"

	"parley/sessions"
	"parley/sessions/rules"
)

// fieldsOfPart are those of part n of an answer, counted from 1, in the order of its
// places: its state, attempts, message id, repeats, why it failed, problem, time, and
// who made the mark.
func fieldsOfPart(n string) []string {
	return []string{"s" + n, "a" + n, "m" + n, "r" + n, "f" + n, "p" + n, "t" + n, "w" + n}
}

// encodeAnswer returns an answer as far as it is known: of one that was read only its
// state.
func encodeAnswer(a rules.Answer) (row, error) {
	f := row{"id": a.ID, "done": boolText(a.Done), "parts": strconv.Itoa(len(a.Parts))}
	for i, p := range a.Parts {
		n := strconv.Itoa(i + 1)
		if err := f.write(fieldsOfPart(n), rules.PartPlaces(&p)); err != nil {
			return nil, err
		}
		if p.Body != nil {
			f["b"+n] = base64.StdEncoding.EncodeToString(p.Body)
		}
	}
	if a.Order > 0 {
		return f, nil
	}
	err := f.write(outgoingFields, rules.OutgoingPlaces(&a.Outgoing))
	if !a.MaybeDuplicate { // the version before takes anything for yes
		delete(f, "again")
	}
	return f, err
}

// decodeAnswer returns one as far as the rules see it, and with what else is there; no row
// is ErrNotFound.
func decodeAnswer(f row) (a rules.Answer, err error) {
	if len(f) == 0 {
		return a, sessions.ErrNotFound
	}
	var many int
	err = errors.Join(
		f.read(outgoingFields, rules.OutgoingPlaces(&a.Outgoing)),
		f.read([]string{"no", "done", "parts"}, []any{&a.Order, &a.Done, &many}),
	)
	for i := range many {
		n := strconv.Itoa(i + 1)
		var p sessions.Part
		err = errors.Join(err, f.read(fieldsOfPart(n), rules.PartPlaces(&p)))
		earlierPart(&p)
		if body, some := f["b"+n]; some && a.Order == 0 {
			var bad error
			p.Body, bad = base64.StdEncoding.DecodeString(body)
			err = errors.Join(err, bad)
		}
		a.Parts = append(a.Parts, p)
	}
	return a, err
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

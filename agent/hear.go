package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"parley/costs"
	"parley/faultpoint"
	"parley/llm"
	"parley/transcript"
)

// transcribeNote makes a message of the voice note n, which is its words or why there are none.
// The turn goes on either way. The history has upto messages.
func (r *transcriber) transcribeNote(ctx context.Context, n note, upto int) (*Outcome, error) {
	why := r.skipReason(n)
	if why != Heard {
		return nil, r.skipNote(ctx, n, why)
	}
	data, err := r.Transcription.Read(r.turn.Workspace, n.Binary)
	if err != nil {
		r.log.Warn("voice note not transcribed", "error", err)
		return nil, r.skipNote(ctx, n, Gone)
	}
	began := r.Now()
	for {
		a, said, err := r.requestTranscript(ctx, n, data, upto)
		if refused, ok := errors.AsType[*costs.BudgetError](err); ok {
			r.exceed(refused)
			return nil, r.skipNote(ctx, n, noteRefusal(refused))
		}
		if err != nil {
			return nil, err
		}
		if a.err == nil {
			return nil, r.commitTranscript(ctx, a, n, said)
		}
		if ended(ctx) {
			return r.endCancelled(ctx, a, nil)
		}
		pause, again := r.retry(a.err, r.Now().Sub(began))
		if !again {
			r.log.Warn("voice note not transcribed", "error", a.err)
			return nil, r.commitNote(ctx, a, r.voiceMessage(n, noteFailure(a.err), ""))
		}
		if err := r.settle(ctx, a); err != nil {
			return nil, err
		}
		r.report(a)
		r.emit(Event{Type: Retrying, Step: r.steps + 1, Wait: pause, Err: a.err})
		if r.Wait(ctx, pause) != nil && ended(ctx) {
			return r.endCancelled(ctx, nil, nil)
		}
	}
}

// skipReason returns why n is not even asked for.
func (r *transcriber) skipReason(n note) VoiceStatus {
	h, s := r.Transcription, *n.Sound
	switch {
	case h == nil || h.Model == nil:
		return NotConfigured
	case h.Judge != nil:
		return h.Judge(VoiceID(r.turn.ID, n.n, Heard), s)
	case h.MaxBytes > 0 && s.Bytes > h.MaxBytes:
		return TooBig
	case h.MaxTime > 0 && !s.Guess && s.Millis > h.MaxTime.Milliseconds():
		return TooLong
	}
	return Heard
}

func noteRefusal(e *costs.BudgetError) VoiceStatus {
	if e.Unpriced {
		return Unpriced
	}
	return NoMoney
}

// noteFailure returns what a failure for good means for the note.
func noteFailure(e *llm.Error) VoiceStatus {
	if e.Kind == llm.InvalidRequest {
		return Rejected
	}
	return Unreached
}

// requestTranscript reserves and makes one request. Its error is what Reserve returned.
func (r *transcriber) requestTranscript(ctx context.Context, n note, data []byte, upto int) (*attempt, llm.Transcript, error) {
	commit, done := r.commitContext(ctx)
	defer done()
	e, price, err := r.soundEstimate(n)
	if err != nil {
		return nil, llm.Transcript{}, err
	}
	res, err := r.Journal.Reserve(commit, e, r.soundRequestRecord(n, upto))
	if err != nil {
		return nil, llm.Transcript{}, fmt.Errorf("reserve a transcription: %w", err)
	}
	faultpoint.Hit("agent.hear.reserved")
	r.tries++
	began := r.Now()
	a := &attempt{began: began}
	said, err := r.Transcription.Model.Transcribe(ctx, llm.Speech{ID: VoiceID(r.turn.ID, n.n, Heard), Name: n.Sound.Name, Data: data})
	a.took = r.Now().Sub(began)
	if err != nil {
		a.err = r.modelError(err, 0)
	}
	faultpoint.Hit("agent.hear.answered")
	a.settlement = costs.Settlement{Reservation: res, Entry: r.soundEntry(res, price, n, a, said)}
	r.cost += a.settlement.Entry.Amount
	r.priced = r.priced && a.settlement.Entry.Priced
	return a, said, nil
}

// soundEstimate returns the worst case of a transcription, and the price by which; nil:
// none is known.
func (r *transcriber) soundEstimate(n note) (e costs.Estimate, p *costs.Price, err error) {
	m := r.Transcription.Model
	e = costs.Estimate{
		Call:   costs.CallID{Turn: r.turn.ID, Step: r.steps + 1, Attempt: r.tries + 1, Purpose: costs.Transcription},
		Labels: costs.Labels{Provider: m.Provider(), Model: m.Name(), Channel: r.turn.Channel, Purpose: costs.Transcription},
	}
	p = r.price(e.Labels)
	if p == nil || !p.BillsAudio() {
		r.log.Warn("transcription without a price", "provider", m.Provider(), "model", m.Name())
		return e, nil, nil
	}
	if e.Upper, err = p.WorstCaseAudio(seconds(n)); err != nil {
		return e, nil, fmt.Errorf("estimate a transcription: %w", err)
	}
	e.Priced = true
	return e, p, nil
}

// seconds returns how long n is, at most, rounded up.
func seconds(n note) int64 { return (n.Sound.Millis + 999) / 1000 }

// soundRequestRecord returns what is kept of a request: which file it sent, behind the
// history that it was made for.
func (r *transcriber) soundRequestRecord(n note, upto int) transcript.RequestRecord {
	f := llm.RequestTemplate{Provider: r.Transcription.Model.Provider(), Model: r.Transcription.Model.Name()}
	tail := []transcript.Message{{
		ID: VoiceID(r.turn.ID, n.n, Heard), Role: transcript.User, CreatedAt: r.Now(),
		Parts: []transcript.Part{transcript.Text{Text: n.Path + " " + n.Sum}},
	}}
	return transcript.RequestRecord{Template: f.Name(), Body: f.MarshalJSON, Upto: upto, Tail: tail, Digest: llm.Digest(f.Name(), tail)}
}

// soundEntry returns the ledger's row of a transcription. What the provider does not tell
// is reckoned by the length of the note; then the row says how much it may have been.
func (r *transcriber) soundEntry(res costs.Reservation, price *costs.Price, n note, a *attempt, said llm.Transcript) costs.Entry {
	e := costs.Entry{
		ID: res.ID, Call: res.Estimate.Call, Labels: res.Estimate.Labels, Price: price,
		State: costs.Settled, Outcome: okOutcome, Usage: said.Usage, RequestID: said.RequestID, At: r.Now(),
	}
	if a.err != nil {
		e.Outcome, e.RequestID = string(a.err.Kind), a.err.RequestID
		if isFree(a.err) {
			e.Usage, e.Priced = costs.Usage{Source: costs.Reported}, true
			return e
		}
	}
	if price == nil {
		e.Usage.Source = cmp.Or(e.Usage.Source, costs.Estimated)
		return e
	}
	var exact bool
	e.Usage, exact = billedUsage(said.Usage, price, seconds(n))
	amount, err := price.Cost(e.Usage)
	if err != nil { // numbers that cannot be
		r.log.Warn("transcription without a cost", "provider", e.Labels.Provider, "model", e.Labels.Model, "error", err)
		e.Usage, exact = price.AudioUsage(seconds(n)), false
		amount = res.Estimate.Upper
	}
	e.Amount, e.Priced = amount, true
	if !exact {
		e.State, e.Upper = costs.Interrupted, max(res.Estimate.Upper, amount)
	}
	r.recordOverrun(&e, res, "seconds", seconds(n))
	return e
}

// billedUsage returns what price bills of a transcription that reported u, and whether
// that was reported.
func billedUsage(u costs.Usage, price *costs.Price, seconds int64) (_ costs.Usage, exact bool) {
	b := price.AudioUsage(seconds)
	exact = u.Source == costs.Reported
	for unit := range b.ServerTools {
		n, told := u.ServerTools[unit]
		if told {
			b.ServerTools[unit] = n
		}
		exact = exact && told
	}
	if exact {
		b.Input, b.Output, b.Source = u.Input, u.Output, costs.Reported
	}
	return b, exact
}

// voiceMessage returns the message that n becomes.
func (r *transcriber) voiceMessage(n note, why VoiceStatus, words string) transcript.Message {
	text := noteText(n.Binary, words)
	if why != Heard {
		text = fmt.Sprintf("[the voice note %s has no words here: %s; who sent it is told]", n.Path, why.reason())
	}
	return transcript.Message{
		ID: VoiceID(r.turn.ID, n.n, why), Role: transcript.User, CreatedAt: r.Now(), Parts: []transcript.Part{transcript.Text{Text: text}},
	}
}

// skipNote commits the message of a note without words, with the reason, when no
// transcription was asked for.
func (r *transcriber) skipNote(ctx context.Context, n note, why VoiceStatus) error {
	commit, done := r.commitContext(ctx)
	defer done()
	if err := r.Journal.Append(commit, r.voiceMessage(n, why, "")); err != nil {
		return fmt.Errorf("record a voice note without words: %w", err)
	}
	return nil
}

// commitTranscript commits the words of n together with their cost.
func (r *transcriber) commitTranscript(ctx context.Context, a *attempt, n note, said llm.Transcript) error {
	words := strings.TrimSpace(said.Text)
	why := Heard
	if words == "" {
		why = Nothing
	}
	return r.commitNote(ctx, a, r.voiceMessage(n, why, words))
}

func (r *transcriber) commitNote(ctx context.Context, a *attempt, m transcript.Message) error {
	if err := r.settle(ctx, a, m); err != nil {
		return err
	}
	faultpoint.Hit("agent.hear.settled")
	r.advance()
	r.report(a)
	return nil
}

// unheardNotice returns what the person reads of voice notes of theirs that have no words.
func (r *take) unheardNotice() string {
	var lines []string
	told := map[VoiceStatus]bool{}
	for _, why := range r.notes.unheard {
		if !told[why] {
			told[why] = true
			lines = append(lines, fmt.Sprintf(toldUnheard, why.reason()))
		}
	}
	return strings.Join(lines, "\n")
}

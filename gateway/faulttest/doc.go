// Package faulttest runs the real binary as processes between the two
// simulators, breaks things under a load, and holds what the simulators wrote
// down to what parley promises.
//
//	people ── simulators/telegram ── TelegramLine ─┐            ┌─ ModelLine ── simulators/model
//	  ▲              │                             processes ───┘                     │
//	  │              │                     killed, frozen, ended, started again       │
//	Drive            └────────────────────── books ──────── Check ── Report ──────────┘
//
// A row of the fault matrix is a test. It opens a run, says what goes wrong, lets
// people talk, and finishes:
//
//	func TestKilledWhileTheModelIsSilentItAsksAgain(t *testing.T) {
//		t.Parallel()
//		faulttest.RunOn(t, faulttest.Embedded(), func(t *testing.T, e faulttest.Engine) {
//			run := faulttest.Open(t, faulttest.Options{Engine: e})
//			run.Plans.KillAt(faulttest.ScaledSize(100), 1, 300, "agent.delta") // each life but the last dies at one of 300 hits
//			run.Model.Plan(model.Fault{Kind: model.FaultCut, Every: 10, After: 3})
//			run.Start()
//			run.Drive(run.KillRandomly(5, 40), func(ctx context.Context) {
//				if run.AwaitSent(ctx, 50) { // after 50 more messages
//					run.NoteFaultAll("model cut off") // what is under way now may be in doubt
//					run.ModelLine.Cut()
//					…
//					run.ModelLine.Mend()
//				}
//			})
//			report := run.Finish() // every violation fails the test; the report has the numbers
//		})
//	}
//
// make test has one row for each kind of fault, on one engine; SkipUnlessLong and RunOn say
// which rows make test-long has besides, and why.
//
// Sizes: ScaledSize(100) is 100 with PARLEY_LONG=1 and 5 without; Shape is the load,
// 3,000 messages in 150 conversations, or 120 in 20. Everything is drawn
// from one seed, which is logged; PARLEY_SEED repeats load and faults, though not
// how the processes interleave.
//
// # What the checker holds
//
// Check reads books only; of parley's own words it takes the ledger, and when a message
// needed no change to be the answer, which no other book has. Each question has one whole
// answer, or words about it in reply; a further copy is marked as a possible repeat, and it
// is known why. People are asked to permit a call once, or again with that mark, under one
// code; what they refuse does not run.
// Answers come in the order of their questions. No canary, a word of one
// conversation, shows in another chat or in a request with another's. Each request
// has one result for each call, and each question once. No call of the model that
// was answered in full is made again without a reason. A tool's effect is there
// once if the model was told so, and never twice. Each exact row of the ledger
// costs what its call cost by the model's bill, to the pico-dollar, and the others
// bound it. Then: no process is left over, none holds more files or goroutines than
// one that just started, and parley usage and Prometheus show the ledger's sum.
//
// A reason is never a matter of seconds, which are long or short as the machine
// is. Each life of a process reaches the simulators from an address of its own, so
// the books say who did what. Who sent an answer, or asked the model, stores how
// that ended before it takes the next step in the same chat or conversation. So a
// repeat has a reason if its first author was killed (or parted, or lost what it
// stands on, between the step before and the step after), and is not seen to have
// taken the next step there; or if Telegram could not hand over its answer. A call
// of the model has none if a request went on from its answer before, whoever's, or
// if the answer to its question was sent before; and one for a summary if the ledger has
// its row, which is stored with the summary.
package faulttest

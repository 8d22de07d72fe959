package faulttest_test

// signalMutations are the guards of the channel to Signal.
var signalMutations = []mutation{
	{
		"signal: the position moves past a line after accept",
		"channels/signal/lanes.go", "		if !l.offer(ctx, f.event) {", "		f.taken.Store(true)\n		if !l.offer(ctx, f.event) {",
		"./channels/signal", "TestWhatIsSaidWhileParleyDoesNotRunComesWhenItDoes",
	},
	{
		"signal: the position moves past a line after all before it",
		"channels/signal/lanes.go", "	for n < len(l.order) && l.order[n].taken.Load() {", "	for n < len(l.order) {",
		"./channels/signal", "TestWhoMayBeListedByANumberWaitsForTheLookUpAndNobodyElse",
	},
	{
		"signal: a line that was taken does not come again",
		"channels/signal/journal.go", "	j.read = j.at\n", "	j.read = position{File: j.at.File}\n",
		"./channels/signal", "TestALineComesAgainUnderItsIDOrNotAtAll",
	},
	{
		"signal: an event is named by its line alone",
		"channels/signal/translate.go", "	m.Event = eventID(source, v.SourceDevice, at, kind)", "	m.Event = eventID(id, v.SourceDevice, at, kind)",
		"./channels/signal", "TestAnEventIsNamedByItsLineWhateverElseIsKnown",
	},
	{
		"signal: what the account itself wrote is nobody's message",
		"channels/signal/translate.go", "	case r.me.is(aci, number):\n", "	case false && r.me.is(aci, number):\n",
		"./channels/signal", "TestWhatNobodySaidMakesNoTurn",
	},
	{
		"signal: mentions are ranges of UTF-16 units",
		"channels/signal/mention.go", "	units := utf16.Encode([]rune(text))\n", "	var units []uint16\n	for _, r := range text {\n		units = append(units, uint16(r))\n	}\n",
		"./channels/signal", "TestMentionsAreRangesInUTF16Units",
	},
	{
		"signal: people are keyed by their ACI, whether a number is shown or not",
		"channels/signal/translate.go", "	id, alias := r.people.same(aci, number)\n", "	id, alias := cmp.Or(number, aci), aci\n",
		"./channels/signal", "TestAPersonIsOneWhetherTheirNumberIsShownOrNot",
	},
	{
		"signal: people are looked up before what they say is offered",
		"channels/signal/offer.go", "e.message.Kind != channels.Unreadable && r.introduce(ctx, e)", "e.message.Kind == channels.Unreadable && r.introduce(ctx, e)",
		"./channels/signal", "TestWhoMayBeListedByANumberWaitsForTheLookUpAndNobodyElse",
	},
	{
		"signal: after a failure of the network a sign of typing goes first",
		"channels/signal/send.go", "	if !c.holds.inDoubt() {", "	if true || !c.holds.inDoubt() {",
		"./channels/signal", "TestAnOutageLeavesOneMessageInDoubtAndNotOneForEachTry",
	},
	{
		"signal: a group that the bot left is gone",
		"channels/signal/errors.go", "not a member in group", "not a group member",
		"./channels/signal", "TestAPersonWhoLeftAndAGroupThatWeLeftAreGone",
	},
	{
		"signal: an account's folder is one parley's",
		"channels/signal/lock.go", "	f, err := lockFile(path)\n	if errors.Is(err, syscall.EWOULDBLOCK) {", "	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)\n	if errors.Is(err, syscall.EWOULDBLOCK) {",
		"./channels/signal", "TestAnAccountsFolderIsOneParleysAtATime",
	},
	{
		"signal: the wait for a daemon that does not end is bounded",
		"channels/signal/lock.go", "		case took > 2*d.o.StopWithin:", "		case false && took > 2*d.o.StopWithin:",
		"./channels/signal", "TestADaemonThatCannotBeEndedIsGivenUpForAWhile",
	},
	{
		"signal: without room for its journal signal-cli does not run",
		"channels/signal/daemon.go", "	if err := disks.Check(d.o.Dir); disks.Full(err) {", "	if err := disks.Check(d.o.Dir); false && disks.Full(err) {",
		"./channels/signal", "TestOnAFullDiskNothingIsConfirmedAndItGoesOnByItself",
	},
	{
		"signal: a daemon that hangs is ended",
		"channels/signal/daemon.go", "			if missed++; missed >= mostMissed {", "			if missed++; false && missed >= mostMissed {",
		"./channels/signal", "TestADaemonThatHangsIsNoticedAndReplaced",
	},
	{
		"signal: pauses before a daemon is started again grow",
		"channels/signal/daemon.go", "		wait := pauses.Next()\n", "		pauses.Reset()\n		wait := pauses.Next()\n",
		"./channels/signal", "TestADaemonThatDiesAtOnceIsReportedAndPausedFor",
	},
	{
		"signal: what was given back of a journal hides no line",
		"channels/signal/journal.go", "		if len(bytes.Trim(text, \"\\x00\")) == 0 && !ended {", "		if len(bytes.Trim(text, \"\")) == 0 && !ended {",
		"./channels/signal", "TestWithoutItsPositionAJournalIsReadFromWhatIsLeft",
	},
}

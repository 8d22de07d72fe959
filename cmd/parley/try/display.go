package try

// display is where the chats are seen: lines that follow one another, or a terminal
// on which one types below them.
type display interface {
	// show shows a message that appears or changes.
	show(m shownMessage)
	// printLine prints what this program says, printNote what it says beside an answer, and
	// printSample something to type and what it does.
	printLine(text string)
	printNote(text string)
	printSample(sample, text string)
	// begin is when a person may type, behind a prompt; resetLine when they have.
	begin(prompt string)
	resetLine()
	// end leaves the cursor on a line of its own.
	end()
}

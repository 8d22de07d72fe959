package messages

// MenuEntry is a command as people see it described.
type MenuEntry struct{ Name, Does string }

// Menu lists the commands that networks suggest to people, in this order.
func Menu() []MenuEntry {
	return []MenuEntry{
		{"new", "start a new conversation; I forget what was said"},
		{"sessions", "the earlier conversations here, with their numbers"},
		{"resume", "go on with an earlier conversation, by its number or words of its title"},
		{"title", "give this conversation a title: “title Apples and pears”"},
		{"compact", "summarise what was said, so that there is room for more; “compact undo” takes it back"},
		{"model", "which model answers here, and which others you may choose"},
		{"provider", "whose model answers here, and whose others you may choose"},
		{"plan", "plan mode: I look and propose, but change nothing; the same command ends it"},
		{"approvals", "what waits for your permission, if you may give it"},
		{"approve", "permit, once, what I asked for, by its code"},
		{"deny", "refuse what I asked for, by its code"},
		{"answer", "answer what a program asks you, by its code: “answer 7K3MD yes”"},
		{"pair", "let in, in direct messages, somebody whom I gave a code"},
		{"access", "who may talk to me here; an owner lets people in and shuts them out with it"},
		{"schedules", "what I am to do here at set times; “schedules remove” and a code removes one"},
		{"goal", "what we want to reach: says it, or with words behind it sets it"},
		{"done", "the goal is reached"},
		{"stop", "stop what I am doing, and drop what waits"},
		{"status", "what I am doing, and with which model"},
		{"cost", "what this conversation and its sub-agents have cost, and what is left"},
		{"why", "what became of your last message here, or of the one that you reply to"},
		{"agents", "the sub-agents of this conversation, and what they do"},
		{"help", "this list"},
	}
}

// CommandNames returns all commands that there are.
func CommandNames() []string {
	names := []string{"clear"} // another word for new
	for _, c := range Menu() {
		names = append(names, c.Name)
	}
	return names
}

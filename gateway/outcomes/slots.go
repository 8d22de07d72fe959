package outcomes

// What becomes of the slots of jobs: values of the label outcome of cron_runs_total.
const (
	SlotQueued = "queued"
	SlotMissed = "missed"     // it was due while nothing ran that could begin it
	SlotBusy   = "still_busy" // the run before had not ended
	SlotDenied = "denied"     // who has scheduled it may not any more, or its chat is gone
)

// JobSlots lists them.
func JobSlots() []string { return []string{SlotQueued, SlotMissed, SlotBusy, SlotDenied} }

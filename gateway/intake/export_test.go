package intake

// Remembered is how many people and groups the limiter knows of.
func (i *Intake) Remembered() int { return len(i.limiter.buckets) }

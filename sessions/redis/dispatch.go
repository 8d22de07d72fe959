package redis

const page = 200 // rows read at a time for a caller's function

// mostExact is the highest sequence that a script can hold.
const mostExact = 1 << 53

package broker

const childDir = "BROKER_TEST_CHILD_DIR"

func publishUntilKilled(dir string) int { return 0 }

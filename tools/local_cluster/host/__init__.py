"""What the machine must bring: system packages, Go programs, a container engine, ports."""

"""One layout under several mechanisms: what each does with the same pods, and what it promises."""

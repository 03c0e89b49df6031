"""What Koordinator makes of pods, nodes and configuration that users bring, by file and line."""

"""What Koordinator reads: labels and annotations, configuration and profiles of pods."""

"""What Koordinator reads: nodes' labels and annotations, its scheduler's and its manager's
configuration, and the profiles of pods.
"""

"""NodeResourceTopologyMatch of scheduler-plugins: which nodes it passes, and how it ranks them."""

"""NodeResourceTopology objects that people write or collect: what their readers make of them."""

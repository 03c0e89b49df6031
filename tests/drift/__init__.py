"""Whether an API server keeps emitted objects as they are: by schemas, and by a real server."""

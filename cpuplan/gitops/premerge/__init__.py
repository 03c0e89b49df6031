"""What a change brings, before it is merged: new findings, and merges that would not be valid."""

"""An agent on a booted node, in a container made of the emitted DaemonSet by runc."""

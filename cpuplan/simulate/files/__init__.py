"""Files that users bring: what the kubelet, Koordinator and readers of NRT make of them."""

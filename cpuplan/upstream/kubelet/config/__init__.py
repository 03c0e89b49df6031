"""KubeletConfiguration: fields, decoding, defaults, validation."""

"""Files of boot loaders: the arguments that the kernel gets at the next boot."""

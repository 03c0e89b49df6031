"""The ground floor: values, texts and files, which know nothing of plans."""

"""What is made of classes one by one: pure work on values, so that it can be done anywhere."""

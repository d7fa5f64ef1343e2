"""Gatewright: authorization middleware between a language model and the functions it may call."""

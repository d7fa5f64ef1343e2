"""What happens to a call: one step of the chain per module."""

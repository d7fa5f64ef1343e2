"""The gatewright command."""

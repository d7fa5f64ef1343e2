"""Thin bridges to the frameworks that host tools; each imports only its own framework."""

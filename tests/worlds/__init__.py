"""Organisations with their policies and expected decisions, read from the shared worlds and from the ones kept here."""

"""What is true: policy files, decisions, schemas. Runs no tool, reads no token, imports nothing of middleware."""

"""The twelve promises of docs/promises.md, one file each, over one small shop."""

"""Hand-made faults of the judge, each of which the comparison with the reference must notice."""

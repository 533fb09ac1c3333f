"""The crash tests. Each asserts on the provider's count and on the table's states, never on what n8n says of itself."""

from itertools import chain

from . import crashes, deliveries, engine, forward, modes, naive, sweeps

MODULES = (deliveries, modes, crashes, naive, engine, forward, sweeps)


def steady():
    """Lists the cases of the n8n that nobody kills: letter, workflow, fault, what to do."""
    return chain.from_iterable(module.cases() for module in MODULES)

"""Who loads, who waits, who leaves.

``decide`` is a pure function from the world and an event to the next world and the effects wanted; ``loop``
owns the world, performs the effects and hands out leases. Everything else here serves one of the two.
"""

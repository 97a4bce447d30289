"""What the server of forks has loaded."""

from . import objects, worker

__all__ = ["objects", "worker"]

objects.fill()

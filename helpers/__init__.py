"""Yardsticks: measure what plain test accuracy hides.

Five houses, one per measure, each with the same rooms: `tempora`, `ppat`, `pmk`, `cl` and `pa`.
Import the house you need: ``from helpers import pa``.
"""

__version__ = "0.1.0"

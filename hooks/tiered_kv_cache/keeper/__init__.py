"""keeper: keeps the shared L2 volume within its bounds, one process a volume.

``layout`` names, ``tree`` file operations, ``table`` what is known of the objects, ``sweep`` and ``uses`` fill it, ``plan``
chooses what goes, ``evict``, ``clean`` and ``ghosts`` remove it, ``keeper`` puts them together, ``command`` is the verb.
"""

"""Files below one root that others made: a folder, or an archive that stays packed.

Who reads gives the limits. Links stay below the root, and what is no regular file is not opened.
"""

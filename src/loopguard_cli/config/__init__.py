"""Settings: what there is, where it comes from, and how it is written.

``schema``     the sections put together; every setting as a dotted key with its type
``sources``    reads files, environment, flags; tells whether a file changed
``load``       checks and merges them, keeping the origin of every value
``locate``     the line of a key, for messages and edits
``write``      changes one setting in a file
``weaken``     which changes loosen the guard
``importing``  settings of the guards that loopguard replaces
``describe``   descriptions and the JSON Schema
"""

"""Text for people: units, tables, descriptions of values, escapes, commands, progress bars."""

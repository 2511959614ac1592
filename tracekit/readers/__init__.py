"""Raw files to raw tables: streaming, exact, every loss counted."""

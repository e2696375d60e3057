"""How a document looks in each medium: a page, a notebook, a terminal, Markdown, and charts as files."""

"""How values are shown: plain text and DOT. Importing `text` registers the text renderers."""

"""The charts of a report: each a Vega-Lite specification with its words, made by one small file a kind."""

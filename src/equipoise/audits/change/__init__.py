"""Two audits side by side: what changed, and can it be told?"""

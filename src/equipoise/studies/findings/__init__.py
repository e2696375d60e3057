"""What trials say: measures, evidence and the result that a report shows."""

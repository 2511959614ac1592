"""The dashboard: thin views over the reports of tracekit.queries."""

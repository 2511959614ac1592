"""Charts: pure functions from a frame to an Altair chart, which know nothing of Streamlit."""

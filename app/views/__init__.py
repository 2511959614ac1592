"""The pages: one thin file each, run by Streamlit by its path."""
